import type { Me } from '../../browser/answers.ts'
import { attempt, finish, onSubmit } from './form.ts'
import { byId, data, element, filled, type Notice, open, pageUrl, retitle, texts } from './page.ts'
import { actAs, codeOf, ownPassword, Problem, request, requestVerification, signedIn } from './requests.ts'

/** The form that changes one field of the own account. */
export async function updateForm(field: 'email' | 'password', notice: Notice): Promise<void> {
  let isPasswordSet = true
  onSubmit(async (fields) => {
    const { current_password = '' } = fields
    const changes = { [field]: fields[field], ...(current_password !== '' && { current_password }) }
    try {
      const { email, is_verified: isVerified } = await request<Me>('PATCH', `${data.routes.users}/me`, {
        json: changes,
      })
      if (fields.email !== undefined && isPending(fields.email, email)) {
        const way = element('a', { class: 'button', href: pageUrl('account') }, texts.toAccount)
        return finish(texts.titles.mailSent, filled(texts.addressPending, { email: fields.email }), way)
      }
      // If this fails, the address is changed all the same, and the page of the account has a button for the link.
      const wantsLink = field === 'email' && !isVerified && data.routes.verify !== null
      if (wantsLink) await requestVerification(email).catch(() => undefined)
      open('account', isPasswordSet || field === 'email' ? notice : 'passwordAdded')
    } catch (problem) {
      const code = codeOf(problem)
      if (code === 'Unauthorized') return open('sign-in')
      // A login that is too old needs the current password, or a new login.
      if (code === 'FRESH_LOGIN_REQUIRED' && !isPasswordSet) return open('sign-in', 'again', location.href)
      if (code === 'FRESH_LOGIN_REQUIRED') throw new Problem('', '', { current_password: texts.fieldMissing })
      throw problem
    }
  })
  await attempt(async () => {
    const user = await signedIn()
    if (user === null) return location.replace(pageUrl('sign-in', location.href))
    actAs(user)
    byId<HTMLInputElement>('username').value = user.email
    isPasswordSet = (await ownPassword()).is_set
    if (isPasswordSet) return
    byId('current_password').closest<HTMLElement>('.field')?.setAttribute('hidden', '')
    if (field === 'password') retitle(texts.setPassword)
  })
}

/** Whether the address takes effect only when its link is opened. The service writes domains in lower case. */
function isPending(wanted: string, email: string): boolean {
  return email === byId<HTMLInputElement>('username').value && wanted.trim().toLowerCase() !== email.toLowerCase()
}
