import { byId, element, retitle, say, texts } from './page.ts'
import { logInWith, Problem } from './requests.ts'

/** Six digits are a code of an authenticator app, and everything else is a recovery code. */
const appCode = /^\d{6}$/

/** The challenge that the login waits for; `null` before a right password. */
let challenge: string | null = null

/** Replaces the form of the sign-in page with the field for a code. */
export function askForCode(given: string): void {
  challenge = given
  const input = element('input', {
    id: 'code',
    name: 'code',
    type: 'text',
    autocomplete: 'one-time-code',
    autocapitalize: 'off',
    spellcheck: 'false',
    'aria-describedby': 'code-hint code-fault',
    required: '',
  })
  const field = element(
    'div',
    { class: 'field' },
    element('label', { for: 'code' }, texts.code),
    input,
    element('p', { class: 'hint', id: 'code-hint' }, texts.codeHint),
    element('p', { class: 'fault', id: 'code-fault' }),
  )
  const form = byId('form')
  for (const old of form.querySelectorAll('.field')) old.remove()
  form.prepend(field)
  // The ways to other sign-ins are of no use here.
  for (const other of [...byId('step').children]) if (other !== form) other.remove()
  retitle(texts.titles.code)
  say('')
  input.focus()
}

/** Answers the challenge with what the form has; `false` before there is one. */
export async function answeredChallenge({ code = '' }: Readonly<Record<string, string>>): Promise<boolean> {
  if (challenge === null) return false
  const typed = code.replaceAll(' ', '')
  if (typed === '') throw new Problem('', '', { code: texts.fieldMissing })
  await logInWith('second-factor', {
    json: { challenge, method: appCode.test(typed) ? 'totp' : 'recovery_code', code: typed },
  })
  return true
}
