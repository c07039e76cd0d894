import type { TokenOwner } from '../../../browser/answers.ts'
import { attempt, finish, onSubmit } from '../form.ts'
import { byId, data, element, keepAddress, keptReturn, pageUrl, retitle, texts } from '../page.ts'
import { codeOf, request } from '../requests.ts'
import { askForLink, forgetToken, leaveOnlyWayOn, linkToken } from '../token.ts'

const token = linkToken()
let isInvitation = false

onSubmit(async ({ password = '' }) => {
  await request('POST', `${data.routes.resetPassword}/reset-password`, { json: { token, password } })
  forgetToken()
  keepAddress(byId<HTMLInputElement>('username').value)
  finish(
    isInvitation ? texts.titles.invitationAccepted : texts.titles.passwordSet,
    isInvitation ? texts.invitationAccepted : texts.passwordSet,
    element('a', { class: 'button', href: pageUrl('sign-in', keptReturn()) }, texts.toSignIn),
  )
})

/** Tells a dead link before the person chooses a password, and password managers the account of the new one. */
async function check(): Promise<void> {
  try {
    const owner = await request<TokenOwner>('POST', '/account/reset/check', { json: { token } })
    byId<HTMLInputElement>('username').value = owner.email
    isInvitation = owner.is_invitation
    if (isInvitation) retitle(texts.titles.invited)
  } catch (problem) {
    if (codeOf(problem) === 'RESET_PASSWORD_BAD_TOKEN') {
      leaveOnlyWayOn('form')
      retitle(texts.titles.deadLink)
    }
    throw problem
  }
}

if (token === null) askForLink('form')
else await attempt(check)
