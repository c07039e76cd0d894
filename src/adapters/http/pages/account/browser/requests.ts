import type { Me, OwnPassword } from '../../browser/answers.ts'
import { isJson, refusedBy, type Sent, send } from '../../browser/send.ts'
import { data, filled, pageUrl, texts, wayOn } from './page.ts'
import { tabStorage } from './storage.ts'

export interface Challenge {
  readonly text: string
  readonly methods: readonly string[]
}

/** A refusal for people: `message` is about the whole form, `fields` has the message of each field. */
export class Problem extends Error {
  readonly code: string
  readonly fields: Readonly<Record<string, string>>
  /** The words of the deployer's handler, if it refused. */
  readonly reason: string
  /** The challenge of a login that needs a second factor. */
  readonly challenge: Challenge | null

  constructor(
    code: string,
    message: string,
    fields: Readonly<Record<string, string>> = {},
    reason = '',
    challenge: Challenge | null = null,
  ) {
    super(message)
    this.code = code
    this.fields = fields
    this.reason = reason
    this.challenge = challenge
  }
}

/** The code of a refusal; `null` for any other fault. */
export function codeOf(thrown: unknown): string | null {
  return thrown instanceof Problem ? thrown.code : null
}

/** The field of the form that shows a refusal. Other refusals are about the whole form. */
const fieldOf: Readonly<Record<string, string>> = {
  REGISTER_USER_ALREADY_EXISTS: 'email',
  REGISTER_INVALID_PASSWORD: 'password',
  RESET_PASSWORD_INVALID_PASSWORD: 'password',
  UPDATE_USER_INVALID_PASSWORD: 'password',
  UPDATE_USER_EMAIL_ALREADY_EXISTS: 'email',
  UPDATE_USER_BAD_CURRENT_PASSWORD: 'current_password',
  SECOND_FACTOR_REFUSED: 'code',
}

/** The id of the user whose account the page shows. Another one who signs in in another tab does not act here. */
let owner: string | null = null

export function actAs({ id }: Me): void {
  owner = String(id)
}

/** Resolves to the JSON body, or `null` without one. Throws a `Problem` if the status is not a success. */
export async function request<Body = null>(method: string, path: string, sent: Sent = {}): Promise<Body> {
  const response = await send(method, data.base + path, owner, sent).catch(() => {
    throw new Problem('', texts.unreachable)
  })
  const content = isJson(response) ? await response.json() : null
  if (response.ok) return content
  if (content?.detail === 'SECOND_FACTOR_REQUIRED' && !isAt('factors')) return leaveForFactor()
  throw problemOf(content?.detail, Number(response.headers.get('Retry-After')))
}

const isAt = (page: string): boolean => location.pathname === `${data.base}/account/${page}`

/** The settings demand a second factor first. Its page leads back, and a page that has logged in leads on. */
function leaveForFactor(): Promise<never> {
  location.replace(pageUrl('factors', isAt('sign-in') || isAt('sign-up') ? wayOn : location.href))
  return new Promise(() => {})
}

/** @param detail the member of the body of an answer, or a code from the address bar */
export function problemOf(detail: unknown, retryAfterSeconds = 60): Problem {
  if (Array.isArray(detail)) {
    const fields = detail.map(({ type, loc, ctx }) => [String(loc[1]), faultText(type, String(loc[1]), ctx)])
    return new Problem('', '', Object.fromEntries(fields))
  }
  const { code, reason, rule, challenge, methods = [] } = refusedBy(detail)
  const known = String(code)
  const errors: Readonly<Record<string, string>> = texts.errors
  const text = Object.hasOwn(errors, known) ? (errors[known] ?? texts.unknown) : worded(reason, rule)
  const field = isTakenField(known) ? reason : fieldOf[known]
  const pause = retryAfterSeconds < 60 ? `${retryAfterSeconds} s` : `${Math.ceil(retryAfterSeconds / 60)} min`
  return field === undefined
    ? new Problem(
        known,
        text.replace('$1', pause),
        {},
        reason,
        challenge === undefined ? null : { text: challenge, methods },
      )
    : new Problem(known, '', { [field]: text })
}

/** The unique value of a deployer's field belongs to another user. */
function isTakenField(code: string): boolean {
  return code === 'REGISTER_FIELD_ALREADY_EXISTS' || code === 'UPDATE_USER_FIELD_ALREADY_EXISTS'
}

/** The message for an item of a 422. */
function faultText(type: string, field: string, ctx: object = {}): string {
  if (type === 'missing') return texts.fieldMissing
  if (field === 'email') return texts.fieldInvalid
  const faults: Readonly<Record<string, string>> = texts.faults
  const limits = Object.entries(ctx).map(([name, limit]) => [name, String(limit)])
  return filled(Object.hasOwn(faults, type) ? (faults[type] ?? '') : texts.fieldUnfit, Object.fromEntries(limits))
}

/** The broken rule in the language of the page; for a rule of the deployer, the words of the handler. */
function worded(reason: string | undefined, rule = ''): string {
  const rules: Readonly<Record<string, string>> = texts.rules
  const text = Object.hasOwn(rules, rule) ? rules[rule] : undefined
  if (text !== undefined) return filled(text, { length: String(data.minPasswordLength) })
  return reason === undefined ? texts.unknown : `${reason}.`
}

/** The signed-in user, or `null`. */
export async function signedIn(): Promise<Me | null> {
  try {
    return await request<Me>('GET', `${data.routes.users}/me`)
  } catch (thrown) {
    if (codeOf(thrown) === 'Unauthorized') return null
    throw thrown
  }
}

/** @param asksFactor asks for the second factor in a trusted browser, too */
export function logIn(username: string, password: string, asksFactor = false): Promise<void> {
  const form = { username, password, ...(asksFactor && { scope: 'second_factor' }) }
  return logInWith('login', { form })
}

/** Throws a `Problem` also if the browser does not keep the cookie of the answer. */
export async function logInWith(route: 'login' | 'second-factor' | 'passkey', sent: Sent): Promise<void> {
  const sentTo = `${data.routes.login}/${route}`
  await request('POST', sentTo, sent)
  if ((await signedIn()) !== null) return
  // The answer has removed a cookie of former settings, and the new one with it. Codes and passkeys work only once.
  if (route === 'login') {
    await request('POST', sentTo, sent)
    if ((await signedIn()) !== null) return
  }
  const { blocked, withoutTls, unknown } = texts.cookieNotKept
  // Chromium refuses its storage, too, but says that cookies are enabled.
  if (!navigator.cookieEnabled || tabStorage === null) throw new Problem('', blocked)
  // Browsers drop a `Secure` cookie of a page without TLS, except on loopback (RFC 6265bis section 5.7).
  throw new Problem('', isSecureContext ? unknown : withoutTls)
}

const linkKey = `portcullis.link${data.base}`
/** The service sends at most one link in this time. */
const linkMilliseconds = 60_000

/** Remembers that a link to this address is under way. */
export function noteLink(email: string): void {
  tabStorage?.setItem(linkKey, JSON.stringify({ email: email.trim().toLowerCase(), at: Date.now() }))
}

/** The milliseconds until a further link can be sent to this address. */
export function linkPause(email: string): number {
  const sent = JSON.parse(tabStorage?.getItem(linkKey) ?? '{}')
  return sent.email === email.trim().toLowerCase() ? Math.max(0, sent.at + linkMilliseconds - Date.now()) : 0
}

export async function requestVerification(email: string): Promise<void> {
  await request('POST', `${data.routes.verify}/request-verify-token`, { json: { email } })
  noteLink(email)
}

export function ownPassword(): Promise<OwnPassword> {
  return request<OwnPassword>('GET', '/account/password/check')
}

/** Sends the browser to a provider. The provider's answer leads to `to`. */
export async function leaveFor(prefix: string, to: string): Promise<void> {
  const query = new URLSearchParams({ return_to: to })
  const begun = await request<{ authorization_url: string }>('GET', `${prefix}/authorize?${query}`)
  location.assign(begun.authorization_url)
}
