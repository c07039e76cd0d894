import { createHash } from 'node:crypto'
import type { AuthorizationCode } from 'simple-oauth2'
import Type from 'typebox'
import {
  type CallbackParameters,
  CodeRefused,
  type OAuthProvider,
  ProviderFailed,
} from '../../application/ports/oauth-provider.ts'
import { type Claims, identityOf, refusalOf, refuses, tokensOf, valueAt } from './identity.ts'
import { clientAuthentication, clientOptions, loading, type ProviderNeeds, providerKind, providerUrl } from './kind.ts'
import { limits, type Outbound, underDeadline } from './outbound.ts'

/** The particulars of one provider of plain OAuth 2.0. */
export interface OAuth2Definition {
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** Asks the provider for the user's account. */
  readonly read: (answers: Answers) => Promise<Claims>
  /** Whether the provider uses numbers as account ids. */
  readonly hasIntegerIds?: boolean
  readonly scopeSeparator?: string
  readonly clientAuthentication?: 'basic' | 'post'
  /** Further parameters that its authorization endpoint needs. */
  readonly authorizeParameters?: Readonly<Record<string, string>>
  /** Whether its token endpoint needs the state again. */
  readonly wantsState?: boolean
  /** `false` where the provider rejects PKCE. All others use it. */
  readonly hasPkce?: boolean
  readonly userAgent?: string
  /** The `iss` of its authorization responses (RFC 9207), where it sends one. */
  readonly issuer?: string
  /** Whether the callback carries the signature of a provider that signs its callbacks. */
  readonly isSigned?: (back: CallbackParameters) => boolean
}

export interface Answers {
  /** The answer of the token endpoint. */
  readonly token: unknown
  /** Sends a GET with the access token. Throws `ProviderFailed` unless the answer is JSON with status 200. */
  get(url: string): Promise<unknown>
  /** Like `get`, but `null` when the user has not granted the request (403, 404). */
  getIfGranted(url: string): Promise<unknown>
}

export interface Client {
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
}

/** A provider of OAuth 2.0 (RFC 6749, authorization code) with PKCE (RFC 7636), whatever its endpoints. */
export function oauth2Provider(definition: OAuth2Definition, client: Client, needs: ProviderNeeds): OAuthProvider {
  const { authorizeUrl, tokenUrl, hasPkce = true, issuer, userAgent = 'portcullis' } = definition
  const grant = loading(newGrant())

  async function newGrant(): Promise<AuthorizationCode> {
    const { AuthorizationCode } = await import('simple-oauth2')
    return new AuthorizationCode({
      client: { id: client.clientId, secret: client.clientSecret },
      auth: {
        tokenHost: new URL(tokenUrl).origin,
        tokenPath: tokenUrl,
        authorizeHost: new URL(authorizeUrl).origin,
        authorizePath: authorizeUrl,
      },
      // `force` parses the body as JSON whatever its content type says. An HTML page fails then.
      http: { json: 'force', redirects: false, maxBytes: limits.responseBytes, headers: { 'User-Agent': userAgent } },
      options: {
        scopeSeparator: definition.scopeSeparator ?? ' ',
        authorizationMethod: definition.clientAuthentication === 'post' ? 'body' : 'header',
      },
    })
  }

  /** The token endpoint's answer; `CodeRefused` when its status says so. */
  async function tokenAnswer(signal: AbortSignal, ask: (http: object) => Promise<{ token: object }>): Promise<unknown> {
    try {
      return (await ask({ agent: needs.outbound.agent(tokenUrl, signal) })).token
    } catch (error) {
      const status = valueAt(error, 'data.res.statusCode')
      if (typeof status === 'number' && refuses(status)) throw refusalOf(status, valueAt(error, 'data.payload'))
      throw error
    }
  }

  return {
    name: needs.name,
    scopes: client.scopes,

    async authorizationUrl({ state, redirectUri, codeVerifier, scopes }) {
      // Each entry replaces the ones before it, and a parameter of the address itself.
      const parameters = {
        ...definition.authorizeParameters,
        ...(hasPkce && { code_challenge: s256(codeVerifier), code_challenge_method: 'S256' }),
        ...(scopes.length > 0 && { scope: [...scopes] }),
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: redirectUri,
        state,
      }
      return (await grant).authorizeURL(parameters)
    },

    async identify(back, { redirectUri, codeVerifier }) {
      const { code, state, iss } = back
      if (iss !== null && issuer !== undefined && iss !== issuer) throw new CodeRefused('another issuer answers')
      if (definition.isSigned?.(back) === false) throw new CodeRefused('somebody else answers')
      return await underDeadline(async (signal) => {
        const codes = await grant
        const token = await tokenAnswer(signal, (http) => {
          const parameters = { code, redirect_uri: redirectUri }
          const verifier = hasPkce && { code_verifier: codeVerifier }
          return codes.getToken({ ...parameters, ...verifier, ...(definition.wantsState && { state }) }, http)
        })
        const tokens = tokensOf(token, needs.clock())
        const get = profiles(needs.outbound, { accessToken: tokens.accessToken, userAgent, signal })
        const claims = await definition.read({ token, ...get })
        return identityOf(claims, tokens, definition.hasIntegerIds ?? false)
      })
    },

    async refresh(refreshToken) {
      return await underDeadline(async (signal) => {
        const old = (await grant).createToken({ refresh_token: refreshToken })
        const answer = await tokenAnswer(signal, (http) => old.refresh({}, http))
        const tokens = tokensOf(answer, needs.clock())
        return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
      })
    },
  }
}

/** RFC 7636 section 4.2. */
function s256(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

function profiles(outbound: Outbound, by: { accessToken: string; userAgent: string; signal: AbortSignal }) {
  async function ask(url: string): Promise<Response> {
    return await outbound.fetch(url, {
      method: 'GET',
      headers: { accept: 'application/json', authorization: `Bearer ${by.accessToken}`, 'user-agent': by.userAgent },
      signal: by.signal,
    })
  }
  async function content(response: Response): Promise<unknown> {
    if (response.status !== 200) throw new ProviderFailed(`the profile has status ${response.status}`)
    return await response.json()
  }
  return {
    get: async (url: string) => await content(await ask(url)),
    async getIfGranted(url: string) {
      const response = await ask(url)
      return isWithheld(response) ? null : await content(response)
    },
  }
}

/** GitHub also answers 403 to a client that exceeds its rate limit ("Rate limits for the REST API"). */
function isWithheld({ status, headers }: Response): boolean {
  const isTooOften = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
  return status === 404 || (status === 403 && !isTooOften)
}

const path = (standard: string, description: string) =>
  Type.String({
    pattern: '^[^.]+(\\.[^.]+)*$',
    expects: 'the name of a property, or several joined by periods',
    default: standard,
    description,
  })

/** Any provider of OAuth 2.0, given its three addresses. */
export const oauth2Kind = providerKind({
  kind: 'oauth2',
  options: {
    ...clientOptions([]),
    authorizeUrl: providerUrl('Authorization endpoint: the page that the browser opens.'),
    tokenUrl: providerUrl('Token endpoint: exchanges a code for a token.'),
    profileUrl: providerUrl('Profile endpoint: returns the account of a token.'),
    profile: Type.Object({
      accountId: path('id', 'Field of the profile with the id of the account, which never changes.'),
      email: path('email', 'Field of the profile with the address.'),
      emailVerified: path('email_verified', 'Field of the profile that is `true` for a verified address.'),
      integerAccountId: Type.Boolean({ default: false, description: 'The ids of accounts are numbers.' }),
    }),
    scopeSeparator: Type.Enum([' ', ','], {
      expects: 'a space or a comma',
      default: ' ',
      description: 'Character between two scopes.',
    }),
    clientAuthentication: Type.Enum(['basic', 'post'], { default: 'basic', ...clientAuthentication }),
    issuer: Type.Optional(
      Type.String({ minLength: 1, otherwise: 'not checked', description: 'Expected `iss` of callbacks (RFC 9207).' }),
    ),
  },
  build({ profile, profileUrl, clientId, clientSecret, scopes, ...definition }, needs) {
    const read = async ({ get }: Answers): Promise<Claims> => {
      const found = await get(profileUrl)
      return {
        accountId: valueAt(found, profile.accountId),
        email: valueAt(found, profile.email),
        emailVerified: valueAt(found, profile.emailVerified),
      }
    }
    const hasIntegerIds = profile.integerAccountId
    return oauth2Provider({ ...definition, read, hasIntegerIds }, { clientId, clientSecret, scopes }, needs)
  },
})
