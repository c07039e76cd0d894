import type { Found } from '../../browser/answers.ts'
import { ask } from './ask.ts'
import { filled, leave, site, texts } from './page.ts'
import { request } from './requests.ts'

/** Creates a person with a password, or invites one, and shows the person. */
export async function addPerson(): Promise<void> {
  const { title, button, email: label, password: ofCreation, passwordOrInvitation } = texts.add
  const question = {
    text: title,
    button,
    fields: {
      email: { label, type: 'email', isRequired: true },
      password: {
        label: site.canInvite ? passwordOrInvitation : ofCreation,
        type: 'password',
        isRequired: !site.canInvite,
      },
    },
  }
  const done = await ask(question, async ({ email = '', password = '' }) => {
    const isInvited = password === ''
    const json = isInvited ? { email, invite: true } : { email, password }
    return { isInvited, created: await request<Found>('POST', site.users, { json }) }
  })
  if (done === null) return
  const { isInvited, created } = done.result
  leave(filled(isInvited ? texts.add.invited : texts.add.created, { email: created.email }))
  location.hash = `#/person/${encodeURIComponent(created.id)}`
}
