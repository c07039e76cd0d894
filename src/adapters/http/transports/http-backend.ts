import type { IncomingHttpHeaders } from 'node:http'
import { Type } from 'typebox'
import type { AddedFactor } from '../../../application/factors/added-factor.ts'
import type { Authenticated, Backend, CandidateCredential } from '../../../application/sign-in/authenticate.ts'
import type { LoginResult } from '../../../application/sign-in/complete-login.ts'
import { Refusal, type RefusalCode, Unavailable } from '../../../domain/refusal.ts'
import { isAppOrigin } from '../../../lib/origins.ts'
import { errorReply } from '../errors.ts'
import type { Reply } from '../reply.ts'
import type { BrowserCookie } from './browser-cookie.ts'
import type { DeviceCookie } from './device-cookie.ts'
import type { Transport } from './transport.ts'

export interface HttpBackend extends Backend {
  readonly transport: Transport
}

/** RFC 9110 section 9.2.1: these methods change nothing, so pages of other origins may send them. */
const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

export const isSafe = (method: string | undefined): boolean => safeMethods.has(method)

interface Answering {
  /** Whether a route takes the second factor. */
  readonly hasFactors: boolean
  /** `null` leaves the browser as it is. */
  readonly deviceCookie: DeviceCookie | null
  readonly browserCookie: BrowserCookie
  /** The secret of the browser to which a challenge is bound. */
  readonly browser: string | null
}

/** The answer to a login. Only a granted one makes the browser known. Throws `Unavailable` where no route takes the second factor. */
export function loginReply({ transport }: HttpBackend, result: LoginResult, answering: Answering): Reply {
  const { hasFactors, deviceCookie, browserCookie, browser } = answering
  if (result.type === 'second_factor') {
    if (!hasFactors) throw new Unavailable('a user has a second factor, and routers.factors.enabled is off')
    const { challenge, methods } = result
    const reply = errorReply(400, { code: secondFactorRequired, challenge, methods })
    return browser === null ? reply : browserCookie.addTo(reply, browser)
  }
  const reply = transport.deliver(result)
  return deviceCookie === null || result.device === null ? reply : deviceCookie.give(reply, result.device)
}

export function transportOf({ backend }: Authenticated, backends: readonly HttpBackend[]): Transport | undefined {
  return backends.find(({ name }) => name === backend.name)?.transport
}

/** The new credential of the login that has added the first factor, for the answer: members of its body, or cookies. */
export function renewed({ issued }: AddedFactor, transport: Transport | undefined) {
  const { body = {}, cookies = [] } = (issued && transport?.deliver({ issued })) ?? {}
  return { members: body, cookies }
}

/** The body of such an answer. */
export const renewedToken = {
  access_token: Type.Optional(
    Type.String({
      description: 'With the first factor, at a backend with bearer tokens: replaces the token of the request',
    }),
  ),
  token_type: Type.Optional(Type.Literal('bearer')),
}

export const secondFactorRequired: RefusalCode = 'LOGIN_SECOND_FACTOR_REQUIRED'

/** The credentials of a request, in the order in which the settings declare the backends. */
export function presentedBy(headers: IncomingHttpHeaders, backends: readonly HttpBackend[]): CandidateCredential[] {
  const presented: CandidateCredential[] = []
  for (const backend of backends) {
    const value = backend.transport.read(headers)
    if (value !== null) presented.push({ backend, value })
  }
  return presented
}

/**
 * Whether a page of another origin made the request, according to the browser. A client that sends neither header is no
 * browser, so no page can misuse its cookies (OWASP CSRF cheat sheet; W3C Fetch Metadata).
 */
export function isForeign(headers: IncomingHttpHeaders, ownOrigins: ReadonlySet<string>): boolean {
  const { origin } = headers
  if (origin !== undefined) return !ownOrigins.has(origin)
  const site = headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

/** Whether the page sent the request to its own origin, for example that of a proxy. Scripts cannot set this header. */
export function isOfProxy(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-site'] === 'same-origin'
}

/** A page of another origin made the request. */
export class ForeignPage extends Refusal {
  constructor() {
    super('FORBIDDEN')
  }
}

export function refuseForeign(headers: IncomingHttpHeaders, ownOrigins: ReadonlySet<string>): void {
  if (isForeign(headers, ownOrigins)) throw new ForeignPage()
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** The origins whose pages may use our cookies. A public URL on loopback counts with each of its names. */
export function ownOrigins(publicUrl: string, allowedOrigins: readonly string[]): ReadonlySet<string> {
  const { origin, hostname, protocol, port } = new URL(publicUrl)
  const own = new Set([origin, ...allowedOrigins.filter((one) => !isAppOrigin(one))])
  if (loopbackNames.includes(hostname)) {
    for (const name of loopbackNames) own.add(new URL(`${protocol}//${name}:${port}`).origin)
  }
  return own
}
