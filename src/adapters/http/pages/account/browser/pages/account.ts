import type { Factors, LinkedAccount, OwnPassword } from '../../../browser/answers.ts'
import { breakable } from '../../../browser/dom.ts'
import { showDetails } from '../details.ts'
import { asUser, attempt, onClick, sendLinkOnClick, signOutOnClick } from '../form.ts'
import { byId, data, element, filled, open, say, takeError, texts } from '../page.ts'
import { actAs, leaveFor, ownPassword, problemOf, request, signedIn } from '../requests.ts'
import { saveFile } from '../save-file.ts'
import { showSessions } from '../sessions.ts'
import { dateOf } from '../times.ts'

const { routes, providers } = data
const here = location.origin + location.pathname

async function showWaysIn(): Promise<void> {
  const list = request<readonly LinkedAccount[]>('GET', `${routes.users}/me/oauth-accounts`)
  const [password, accounts] = await Promise.all([ownPassword(), list])
  showPassword(password)
  showAccounts(accounts, password.is_set)
}

async function showFactor(): Promise<void> {
  const { totp, passkeys, reset_at: resetAt } = await request<Factors>('GET', `${routes.users}/me/factors`)
  byId('factor-state').textContent =
    [
      ...(totp === null ? [] : [texts.factorApp]),
      ...(passkeys.length === 0 ? [] : [filled(texts.passkeyCount, { count: String(passkeys.length) })]),
    ].join(', ') || texts.noFactor
  if (totp === null && passkeys.length === 0) {
    const link = byId('change-factor')
    link.textContent = texts.addFactor
    link.setAttribute('aria-label', texts.addFactorLabel)
  }
  if (resetAt !== null) byId('factor-reset').textContent = filled(texts.factorGoesAt, { time: dateOf(resetAt) })
}

function showPassword({ is_set: isSet, may_be_random: mayBeRandom }: OwnPassword): void {
  byId('password-state').textContent = isSet ? '••••••••' : texts.noPassword
  byId('unknown-password').hidden = !mayBeRandom || routes.resetPassword === null
  if (isSet) return
  const link = byId('change-password')
  link.textContent = texts.setPassword
  link.removeAttribute('aria-label')
}

function showAccounts(accounts: readonly LinkedAccount[], isPasswordSet: boolean): void {
  const usable = accounts.filter((one) => providers.some(({ name }) => name === one.oauth_name))
  byId('linked').hidden = accounts.length === 0 && providers.every(({ associate }) => associate === null)
  byId('none-linked').hidden = accounts.length > 0
  byId('accounts').replaceChildren(
    ...accounts.map((one) => rowOf(one, isPasswordSet || usable.some((other) => other !== one))),
  )
  for (const { name, label, associate } of providers) {
    if (associate === null) continue
    const isLinked = accounts.some((one) => one.oauth_name === name)
    const button = byId(`link-${name}`)
    button.textContent = isLinked ? texts.linkAnother : texts.link
    button.setAttribute('aria-label', filled(isLinked ? texts.linkAnotherLabel : texts.linkLabel, { provider: label }))
  }
}

function rowOf({ id, oauth_name: name, account_email: email }: LinkedAccount, canUnlink: boolean): HTMLElement {
  const known = providers.find((one) => one.name === name) // the settings may no longer have it
  const { label: provider = name, icon = null, associate: prefix = null } = known ?? {}
  const value = element('div', {}, element('p', { class: 'hint' }, provider), ' ', ...breakable(email))
  const row = element('li', {}, iconOf(provider, icon), value)
  if (prefix !== null && !canUnlink) value.append(element('p', { class: 'hint' }, texts.errors.OAUTH_LAST_CREDENTIAL))
  if (prefix !== null && canUnlink) {
    const label = filled(texts.unlinkLabel, { provider, email })
    const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, texts.unlink)
    onClick(button, () =>
      asUser(async () => {
        await request('DELETE', `${prefix}/${id}`)
        await showWaysIn()
        say(filled(texts.unlinked, { provider }))
        byId('title').focus()
      }),
    )
    row.append(button)
  }
  return row
}

/** As the service writes it into the page. */
function iconOf(label: string, icon: string | null): HTMLElement {
  if (icon !== null) return element('img', { class: 'icon', src: icon, alt: '' })
  return element('span', { class: 'icon', 'aria-hidden': 'true' }, label.charAt(0))
}

signOutOnClick(byId('sign-out'))

onClick(byId('everywhere'), () =>
  asUser(async () => {
    await request('DELETE', `${routes.users}/me/sessions`)
    open('sign-in', 'signedOutEverywhere')
  }),
)

const exporting = document.getElementById('export')
if (exporting !== null) {
  onClick(exporting, () =>
    asUser(async () => {
      const own = await request<object>('GET', `${routes.users}/me/export`)
      saveFile('account.json', 'application/json', JSON.stringify(own, null, 2))
    }),
  )
}

for (const { name, associate } of providers) {
  if (associate !== null) onClick(byId(`link-${name}`), () => asUser(() => leaveFor(associate, here)))
}

async function show(): Promise<void> {
  const user = await signedIn()
  if (user === null) return location.replace(`${data.base}/account/sign-in${location.search}`)
  actAs(user)
  const { email, is_verified: isVerified } = user
  for (const id of ['email', 'address']) byId(id).replaceChildren(...breakable(email))
  byId('avatar').textContent = email.charAt(0).toUpperCase()
  byId('state').textContent = isVerified ? texts.verified : texts.unverified
  byId('state').classList.add(isVerified ? 'good' : 'warn')
  onClick(byId('mail-password'), async () => {
    await request('POST', `${routes.resetPassword}/forgot-password`, { json: { email } })
    byId('unknown-password').hidden = true
    say(filled(texts.linkSent, { email }))
    byId('title').focus()
  })
  if (!isVerified && routes.verify !== null) sendLinkOnClick(byId('resend'), email, byId('link-sent'))
  showDetails(user)
  await Promise.all([showWaysIn(), showSessions(), routes.factors ? showFactor() : null])
  const error = takeError()
  if (error !== null) say(problemOf(error).message, 'bad')
  byId('loading').hidden = true
  byId('step').hidden = false
}

await attempt(() => asUser(show))
