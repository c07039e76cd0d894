import { typedCode } from '../../../../../lib/typed-code.ts'
import { finish, onClick } from './form.ts'
import { byId, data, element, filled, retitle, say, texts, wayOn } from './page.ts'
import { hasPasskeys, passkeyAnswer } from './passkeys.ts'
import { type Challenge, codeOf, logInWith, Problem } from './requests.ts'

/** Six digits are a code of an authenticator app, and everything else is a recovery code. */
const appCode = /^\d{6}$/

/** The challenge that the login waits for; `null` before a right password. */
let challenge: Challenge | null = null

/** When the service ends the login that waits: after so many wrong codes, or at this time. */
let [triesLeft, endsAt] = [0, 0]

/** Replaces the form of the sign-in page with the field for a code. */
export function askForCode(given: Challenge): void {
  challenge = given
  triesLeft = 5
  endsAt = Date.now() + 300_000
  const hasApp = given.methods.includes('totp')
  const input = element('input', {
    id: 'code',
    name: 'code',
    type: 'text',
    autocomplete: hasApp ? 'one-time-code' : 'off',
    autocapitalize: 'off',
    spellcheck: 'false',
    'aria-describedby': 'code-hint code-fault',
    required: '',
  })
  const field = element(
    'div',
    { class: 'field' },
    element('label', { for: 'code' }, hasApp ? texts.code : texts.recoveryCode),
    input,
    element('p', { class: 'hint', id: 'code-hint' }, hasApp ? texts.codeHint : texts.recoveryCodeHint),
    element('p', { class: 'fault', id: 'code-fault' }),
  )
  const form = byId('form')
  for (const old of form.querySelectorAll('.field')) old.remove()
  form.prepend(field, ...(data.trustedBrowserDays > 0 ? [trustField()] : []))
  // The ways to other sign-ins are of no use here.
  for (const other of [...byId('step').children]) if (other !== form) other.remove()
  const again = element('a', { id: 'again', href: location.pathname + location.search }, texts.signInAgain)
  form.after(element('p', {}, again), element('p', { class: 'hint', id: 'lost' }, texts.lostFactor))
  retitle(texts.titles.code)
  say('')
  input.focus()
  if (hasPasskeys && given.methods.includes('passkey')) offerPasskey(given, form, hasApp)
}

/** For a user without an app, the passkey is the usual way, and the code is for a lost one. */
function offerPasskey(given: Challenge, form: HTMLElement, hasApp: boolean): void {
  const passkey = passkeyButton(given)
  if (hasApp) {
    passkey.className = 'second'
    form.after(passkey)
    return
  }
  form.querySelector('button')?.classList.add('second')
  form.before(passkey, element('p', { class: 'or' }, element('span', {}, texts.or)))
  passkey.focus()
}

function passkeyButton({ text }: Challenge): HTMLElement {
  const button = element('button', { type: 'button', id: 'passkey' }, texts.usePasskey)
  onClick(button, async () => {
    const response = await passkeyAnswer()
    const box = document.querySelector<HTMLInputElement>('#trust_browser')
    try {
      await prove({ challenge: text, method: 'passkey', response, trust_browser: box?.checked === true })
    } catch (problem) {
      if (codeOf(problem) !== 'SECOND_FACTOR_REFUSED') throw problem
      throw new Problem('', texts.errors.PASSKEY_REFUSED)
    }
    location.assign(wayOn)
  })
  return button
}

/** The box to ask no more in this browser. */
function trustField(): HTMLElement {
  const label = filled(texts.trustBrowser, { days: String(data.trustedBrowserDays) })
  const box = element('input', {
    id: 'trust_browser',
    name: 'trust_browser',
    type: 'checkbox',
    'aria-describedby': 'trust_browser-fault',
  })
  return element(
    'div',
    { class: 'field' },
    element('div', { class: 'box' }, box, element('label', { for: 'trust_browser' }, label)),
    element('p', { class: 'fault', id: 'trust_browser-fault' }),
  )
}

/** The form could do nothing more. */
function endLogin(): Promise<never> {
  const again = element('a', { class: 'button', id: 'again', href: location.href }, texts.signInAgain)
  finish(texts.titles.code, texts.loginEnded, again)
  return new Promise(() => {})
}

/** Answers the challenge with what the form has; `false` before there is one. */
export async function answeredChallenge({
  code = '',
  trust_browser,
}: Readonly<Record<string, string>>): Promise<boolean> {
  if (challenge === null) return false
  const typed = typedCode(code)
  if (typed === '') throw new Problem('', '', { code: texts.fieldMissing })
  const method = appCode.test(typed) ? 'totp' : 'recovery_code'
  const json = { challenge: challenge.text, method, code: typed, trust_browser: trust_browser !== undefined }
  try {
    await prove(json)
  } catch (problem) {
    if (method === 'totp' || codeOf(problem) !== 'SECOND_FACTOR_REFUSED') throw problem
    throw new Problem('', '', { code: texts.recoveryCodeRefused })
  }
  return true
}

/** Sends a proof. The service counts the wrong ones of each kind together. */
async function prove(json: object): Promise<void> {
  try {
    await logInWith('second-factor', { json })
  } catch (problem) {
    if (codeOf(problem) !== 'SECOND_FACTOR_REFUSED') throw problem
    triesLeft--
    if (triesLeft <= 0 || Date.now() >= endsAt) return endLogin()
    throw problem
  }
}
