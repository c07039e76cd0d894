import { isJson, refusedBy, type Sent, send } from '../../browser/send.ts'
import { base, element, filled, ownIdOrNull, say, site, texts } from './page.ts'

/** A refusal of the service. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Resolves to the JSON body, or `null` without one. Throws a `Problem` if the status is not a success. */
export async function request<Body = null>(method: string, path: string, sent: Sent = {}): Promise<Body> {
  const response = await send(method, base + path, ownIdOrNull(), sent).catch((thrown: unknown) => {
    if (sent.signal?.aborted) throw thrown
    throw new Problem(0, '', texts.unreachable)
  })
  const content = isJson(response) ? await response.json().catch(() => (response.ok ? notOurs() : null)) : null
  if (response.ok) return isJson(response) || !response.headers.has('Content-Type') ? content : notOurs()
  throw problemOf(response.status, content?.detail)
}

/** A page of a proxy, or half of an answer, tells nothing of what was done. */
function notOurs(): never {
  throw new Problem(0, '', texts.unclear)
}

function problemOf(status: number, detail: unknown): Problem {
  if (Array.isArray(detail)) {
    const faults: Readonly<Record<string, string>> = texts.faults
    const sentences = detail.map(({ loc, msg }) => {
      const field = String(loc.at(-1))
      return faults[field] ?? filled(texts.invalid, { field: `${field}: ${msg}` })
    })
    return new Problem(status, 'invalid', sentences.join(' '))
  }
  const { code, reason, rule = '' } = refusedBy(detail)
  const rules: Readonly<Record<string, string>> = texts.rules
  if (Object.hasOwn(rules, rule)) return new Problem(status, String(code), rules[rule] ?? '')
  const known = String(code ?? '')
  const errors: Readonly<Record<string, string>> = texts.errors
  const text = Object.hasOwn(errors, known) ? (errors[known] ?? '') : ''
  const words = filled(texts.other, { status: String(status), code: known })
  return new Problem(status, known, [text || words, ...(typeof reason === 'string' ? [reason] : [])].join(' '))
}

/**
 * The address of the sign-in, which asks again also if somebody is signed in, and leads back to what is shown now. It asks for
 * the second factor in a trusted browser, too.
 */
export function signInAddress(): string {
  return `${base}/account/sign-in?${new URLSearchParams({ another: 'factor', return_to: returnAddress() })}`
}

/** The address of what is shown now, without what was searched for: queries are in the logs of proxies. */
export function returnAddress(): string {
  const { origin, pathname, hash } = location
  return `${origin}${pathname}${/^#\/(person\/[\w-]+|deliveries|state)$/.test(hash) ? hash : ''}`
}

type Refuse = (message: string, ...ways: readonly HTMLElement[]) => void

/**
 * Does `act`, and resolves to `null` if it is refused. `refuse` shows the refusal, with a link to the sign-in if another login
 * helps. Without it, the refusal is the message of the page. A person who may not go on gets another view.
 */
export async function attempt<R>(act: () => Promise<R>, refuse: Refuse | null = null): Promise<R | null> {
  try {
    return await act()
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem
    const { status, code, message } = problem
    const isGate = status === 401 || code === 'SECOND_FACTOR_REQUIRED'
    if (isGate && refuse === null) {
      dispatchEvent(new CustomEvent('gate', { detail: code }))
      return null
    }
    const needsLogin = isGate || code === 'FRESH_LOGIN_REQUIRED' || code === 'ANOTHER_USER_SIGNED_IN'
    const ways = needsLogin ? [element('a', { href: signInAddress() }, texts.signInAgain)] : []
    if (refuse === null) say(message, 'bad', ...ways)
    else refuse(message, ...ways)
    return null
  }
}

/** The path of a person. An id has letters, digits and dashes; `..` would be another path. */
export const person = (id: string): string => `${site.users}/${/^[\w-]+$/.test(id) ? id : 'nobody'}`
