import type { Found } from './answers.ts'
import { ask } from './ask.ts'
import { filled, leave, site, texts } from './page.ts'
import { Problem, request } from './requests.ts'

/** Creates a person with a password, or invites one, and shows the person. A refused answer can be corrected. */
export async function addPerson(): Promise<void> {
  const { title, button, email: label, password: ofCreation, passwordOrInvitation } = texts.add
  const passwordLabel = site.sendsMail ? passwordOrInvitation : ofCreation
  let refused: { readonly fault: string; readonly email: string } | null = null
  for (;;) {
    const values = await ask({
      text: title,
      button,
      ...(refused !== null && { fault: refused.fault }),
      fields: {
        email: { label, type: 'email', isRequired: true, value: refused?.email ?? '' },
        password: { label: passwordLabel, type: 'password', isRequired: !site.sendsMail },
      },
    })
    if (values === null) return
    const { email = '', password = '' } = values
    const isInvited = password === '' && site.sendsMail
    const json = isInvited ? { email, invite: true } : { email, password }
    try {
      const created = await request<Found>('POST', site.users, { json })
      leave(filled(isInvited ? texts.add.invited : texts.add.created, { email: created.email }))
      location.hash = `#/person/${encodeURIComponent(created.id)}`
      return
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status === 401 || problem.status === 403) throw problem
      refused = { fault: problem.message, email }
    }
  }
}
