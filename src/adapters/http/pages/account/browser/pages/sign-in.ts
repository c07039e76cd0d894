import { answeredChallenge, askForCode } from '../code-step.ts'
import { attempt, finish, offerProviders, onClick, onSubmit, sendLinkOnClick } from '../form.ts'
import { byId, data, element, keepReturn, notice, parameters, returnTo, say, takeError, texts, wayOn } from '../page.ts'
import { hasPasskeys, passkeyAnswer } from '../passkeys.ts'
import { codeOf, logIn, logInWith, Problem, problemOf, signedIn } from '../requests.ts'

const takesNames = byId<HTMLInputElement>('username').type === 'text'

onSubmit(async (fields) => {
  if (await answeredChallenge(fields)) return location.assign(wayOn)
  const { username = '', password = '' } = fields
  // The service answers to each of them that the address or the password is wrong.
  if (username.trim() === '') throw new Problem('', '', { username: texts.fieldMissing })
  const isAddress = username.includes('@')
  if (!isAddress && !takesNames) throw new Problem('', '', { username: texts.fieldInvalid })
  if (password === '') throw new Problem('', '', { password: texts.fieldMissing })
  try {
    // A page that sends people here again wants more than they have shown.
    await logIn(username, password, notice !== null || parameters.get('another') === 'factor')
    location.assign(wayOn)
  } catch (problem) {
    if (problem instanceof Problem && problem.challenge !== null) return askForCode(problem.challenge)
    // Only an address can get a link.
    const isUnverified = codeOf(problem) === 'LOGIN_USER_NOT_VERIFIED'
    if (!isUnverified || !isAddress || data.routes.verify === null) throw problem
    keepReturn()
    const button = element('button', { type: 'button' }, texts.resend)
    sendLinkOnClick(button, username)
    finish(texts.titles.verify, texts.errors.LOGIN_USER_NOT_VERIFIED, button)
  }
})

if (hasPasskeys) {
  const signInBy = async (isAutofill: boolean): Promise<void> => {
    const response = await passkeyAnswer(isAutofill)
    await logInWith('passkey', { json: { response } })
    location.assign(wayOn)
  }
  const button = byId('passkey')
  button.hidden = false
  onClick(button, () => signInBy(false))
  // The browser suggests passkeys in the field. A challenge costs a place in the store, so none is made before.
  const suggest = (): void => {
    signInBy(true).catch((problem: unknown) => {
      if (codeOf(problem) === 'PASSKEY_REFUSED' && problem instanceof Problem) say(problem.message, 'bad')
    })
  }
  byId('username').addEventListener('focus', suggest, { once: true })
}

// An app may know who wants to sign in (OpenID Connect Core section 3.1.2.1).
const hint = returnTo === null ? null : new URL(returnTo).searchParams.get('login_hint')
if (hint !== null) byId<HTMLInputElement>('username').value = hint

offerProviders()

const error = takeError()
const hash = new URLSearchParams(location.hash.slice(1))
const challenge = hash.get('challenge')
if (error === 'LOGIN_SECOND_FACTOR_REQUIRED' && challenge !== null) {
  history.replaceState(null, '', location.pathname + location.search)
  askForCode({ text: challenge, methods: (hash.get('methods') ?? '').split(',') })
} else if (error !== null) say(problemOf(error).message, 'bad')
else {
  await attempt(async () => {
    // People who are signed in go on at once. A page that sends them here with a message, or for another
    // account, needs another or a newer login.
    if (notice === null && !parameters.has('another') && (await signedIn()) !== null) location.replace(wayOn)
  })
}
