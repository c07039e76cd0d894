import { isRegistered } from './redirect-uris.ts'

/** An app as its authorization requests need it. */
interface Registered {
  readonly name: string
  readonly redirectUris: readonly string[]
}

/** The address that gets the answer, and the `state` of the request; `null` without one. */
export interface Back {
  readonly redirectUri: string
  readonly state: string | null
}

/** RFC 6749 section 4.1.2.1; OpenID Connect Core section 3.1.2.6 for those of `prompt`. */
export type AuthorizationError =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'login_required'
  | 'interaction_required'

/** A request whose address is not registered gets no redirect, or it could lead people anywhere (RFC 9700 section 4.11.2). */
export type AuthorizationRequest<App extends Registered> =
  | {
      readonly type: 'unknown'
      readonly app: string | null
      readonly fault: string
      readonly redirectUri: string | null
    }
  | {
      readonly type: 'refused'
      readonly app: App
      readonly back: Back
      readonly error: AuthorizationError
      readonly fault: string
    }
  | {
      readonly type: 'valid'
      readonly app: App
      readonly back: Back
      /** S256 (RFC 7636 section 4.3). */
      readonly challenge: string
      /** `none`: without any page. `login`: with a new login. */
      readonly prompt: 'none' | 'login' | null
    }

const names = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
  'prompt',
]

/** A longer query would not fit into the address to return to. */
const longestQuery = 1800

/** Reads an authorization request (RFC 6749 section 4.1.1). Unknown parameters are ignored, and empty ones count as absent. */
export function authorizationRequest<App extends Registered>(
  query: URLSearchParams,
  apps: ReadonlyMap<string, App>,
): AuthorizationRequest<App> {
  const one = (name: string): string | null => {
    const values = query.getAll(name)
    return values.length === 1 ? values[0] || null : null
  }
  const redirectUri = one('redirect_uri')
  const app = apps.get(one('client_id') ?? '')
  if (app === undefined) return { type: 'unknown', app: null, fault: 'no app has this client_id', redirectUri }
  if (redirectUri === null || !isRegistered(redirectUri, app.redirectUris)) {
    const fault = 'the redirectUris of the app do not have this redirect_uri'
    return { type: 'unknown', app: app.name, fault, redirectUri }
  }

  const back: Back = { redirectUri, state: one('state') }
  const refused = (error: AuthorizationError, fault: string) => ({ type: 'refused', app, back, error, fault }) as const
  const repeated = names.find((name) => query.getAll(name).length > 1)
  if (repeated !== undefined) return refused('invalid_request', `${repeated} is given more than once`)
  if (query.toString().length > longestQuery) return refused('invalid_request', 'the request is too long')
  const type = one('response_type')
  if (type === null) return refused('invalid_request', 'response_type is missing')
  if (type !== 'code') return refused('unsupported_response_type', 'response_type must be code')
  // Without a method, RFC 7636 section 4.3 means `plain`.
  if (one('code_challenge_method') !== 'S256') return refused('invalid_request', 'code_challenge_method must be S256')
  const challenge = one('code_challenge')
  if (challenge === null || !/^[\w-]{43}$/.test(challenge)) {
    return refused('invalid_request', 'code_challenge must be 43 characters of base64url')
  }
  const prompts = (one('prompt') ?? '').split(' ')
  const prompt = prompts.includes('none') ? 'none' : prompts.includes('login') ? 'login' : null
  if (prompt === 'none' && prompts.length > 1) return refused('invalid_request', 'prompt must be none alone')
  return { type: 'valid', app, back, challenge, prompt }
}

/** The address that carries the answer back. `iss` tells the app who has answered (RFC 9207). */
export function answerTo(
  { redirectUri, state }: Back,
  issuer: string,
  answer: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({ ...answer, ...(state !== null && { state }), iss: issuer })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

/** The endpoints for apps and their abilities (RFC 8414 section 2, RFC 9207 section 3). */
export function descriptionFor(issuer: string): object {
  return {
    authorization_endpoint: `${issuer}/account/authorize`,
    token_endpoint: `${issuer}/account/token`,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    authorization_response_iss_parameter_supported: true,
  }
}
