import { hash } from 'node:crypto'
import type { AccessToken, AuthorizationCode } from 'simple-oauth2'
import Type from 'typebox'
import {
  type CallbackParameters,
  CodeRefused,
  type OAuthProvider,
  ProviderFailed,
} from '../../application/ports/oauth-provider.ts'
import { demandTokenAnswer, fieldsIn, identityOf, type Profile, profileIn, tokensOf, valueAt } from './identity.ts'
import { clientAuthentication, clientOptions, type ProviderNeeds, pkce, providerKind, providerUrl } from './kind.ts'
import { limits, underDeadline } from './outbound.ts'

interface OAuth2Definition {
  readonly client: { readonly clientId: string; readonly clientSecret: string; readonly scopes: readonly string[] }
  readonly needs: ProviderNeeds
  readonly authorizeUrl: string
  readonly tokenUrl: string
  readonly read: (answers: Answers) => Promise<Profile>
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

interface Answers {
  readonly token: unknown
  /** Sends a GET with the access token. Throws `ProviderFailed` unless the answer is JSON with a status 2xx. */
  get(url: string): Promise<unknown>
  /** Like `get`, but `null` when the user has not granted the request (403, 404). */
  getIfGranted(url: string): Promise<unknown>
}

/** A provider of OAuth 2.0 (RFC 6749, authorization code) with PKCE (RFC 7636), whatever its endpoints. */
export function oauth2Provider({ client, needs, ...definition }: OAuth2Definition): OAuthProvider {
  const { authorizeUrl, tokenUrl, hasPkce = true, issuer, userAgent = 'portcullis' } = definition
  const grant = newGrant() // deployments without such a provider do not load the library
  grant.catch(() => undefined)

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
      // `force` parses the body as JSON whatever its content type says.
      http: { json: 'force', redirects: false, maxBytes: limits.responseBytes, headers: { 'User-Agent': userAgent } },
      options: {
        scopeSeparator: definition.scopeSeparator ?? ' ',
        authorizationMethod: definition.clientAuthentication === 'post' ? 'body' : 'header',
      },
    })
  }

  /** The token endpoint's answer; throws `CodeRefused` when it refuses. */
  async function tokenAnswer(
    signal: AbortSignal,
    ask: (grant: AuthorizationCode, http: { agent: unknown }) => Promise<AccessToken>,
  ): Promise<unknown> {
    const http = { agent: await needs.outbound.agent(tokenUrl, signal) }
    const { token } = await ask(await grant, http).catch((error: unknown) => {
      const status = valueAt(error, 'data.res.statusCode')
      if (typeof status !== 'number') throw error
      demandTokenAnswer(status, valueAt(error, 'data.payload'))
      throw new ProviderFailed(`the answer of the token endpoint is no JSON (status ${status})`)
    })
    demandTokenAnswer(200, token)
    return token
  }

  /** @param got receives each answer */
  function profiles(
    accessToken: string,
    signal: AbortSignal,
    got: (answer: unknown) => void,
  ): Pick<Answers, 'get' | 'getIfGranted'> {
    const headers = { accept: 'application/json', authorization: `Bearer ${accessToken}`, 'user-agent': userAgent }
    const get = async (url: string, isNone = (_: Response): boolean => false): Promise<unknown> => {
      const response = await needs.outbound.fetch(url, { method: 'GET', headers, signal })
      const answer = isNone(response) ? null : await profileIn(response)
      got(answer)
      return answer
    }
    return { get: (url) => get(url), getIfGranted: (url) => get(url, isWithheld) }
  }

  return {
    name: needs.name,
    scopes: client.scopes,

    async authorizationUrl({ state, redirectUri, codeVerifier, scopes }) {
      // A later entry replaces earlier ones of the same name, and a parameter in the address.
      return (await grant).authorizeURL({
        ...definition.authorizeParameters,
        ...(hasPkce && { code_challenge: s256(codeVerifier), code_challenge_method: 'S256' }),
        ...(scopes.length > 0 && { scope: [...scopes] }),
        redirect_uri: redirectUri,
        state,
      })
    },

    async identify(back, { redirectUri, codeVerifier }) {
      const { code, state, iss } = back
      if (iss !== null && issuer !== undefined && iss !== issuer)
        throw new CodeRefused('the callback is from another issuer')
      if (definition.isSigned?.(back) === false) throw new CodeRefused('the signature of the callback is wrong')
      return await underDeadline(async (signal) => {
        const parameters = {
          code,
          redirect_uri: redirectUri,
          ...(hasPkce && { code_verifier: codeVerifier }),
          ...(definition.wantsState && { state }),
        }
        const token = await tokenAnswer(signal, (codes, http) => codes.getToken(parameters, http))
        const tokens = tokensOf(token, needs.clock())
        const answers: unknown[] = []
        const ask = profiles(tokens.accessToken, signal, (answer) => answers.push(answer))
        const claims = await definition.read({ token, ...ask })
        const identity = identityOf(claims, tokens, definition.hasIntegerIds ?? false)
        return { ...identity, fields: fieldsIn(answers, needs.fields) }
      })
    },

    async refresh(refreshToken) {
      return await underDeadline(async (signal) => {
        const old = { refresh_token: refreshToken }
        const answer = await tokenAnswer(signal, (codes, http) => codes.createToken(old).refresh({}, http))
        const tokens = tokensOf(answer, needs.clock())
        return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
      })
    },
  }
}

/** A known provider that needs no options but those of the client. */
export function oauth2Preset<const Kind extends string>(
  kind: Kind,
  standardScopes: readonly string[],
  { title, ...definition }: Omit<OAuth2Definition, 'client' | 'needs'> & { readonly title?: string },
) {
  return providerKind({
    kind,
    ...(title !== undefined && { title }),
    options: clientOptions(standardScopes),
    build: (client, needs) => oauth2Provider({ client, needs, ...definition }),
  })
}

/** RFC 7636 section 4.2. */
function s256(verifier: string): string {
  return hash('sha256', verifier, 'base64url')
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
      emailVerified: path(
        'email_verified',
        'Field of the profile that is `true`, `1`, `"1"` or `"true"` for a verified address.',
      ),
      integerAccountId: Type.Boolean({ default: false, description: 'The ids of accounts are numbers.' }),
    }),
    scopeSeparator: Type.Enum([' ', ','], {
      expects: 'a space or a comma',
      default: ' ',
      description: 'Character between two scopes.',
    }),
    pkce,
    clientAuthentication: Type.Enum(['basic', 'post'], { default: 'basic', ...clientAuthentication }),
    issuer: Type.Optional(
      Type.String({ minLength: 1, otherwise: 'not checked', description: 'Expected `iss` of callbacks (RFC 9207).' }),
    ),
  },
  doubt: ({ pkce: hasPkce }) =>
    hasPkce ? null : 'pkce is off: nothing ties a stolen code to its journey (RFC 9700 section 2.1.1)',
  build({ profile, profileUrl, pkce: hasPkce, clientId, clientSecret, scopes, ...definition }, needs) {
    const read = async ({ get }: Answers): Promise<Profile> => {
      const found = await get(profileUrl)
      return {
        accountId: valueAt(found, profile.accountId),
        email: valueAt(found, profile.email),
        emailVerified: valueAt(found, profile.emailVerified),
      }
    }
    const hasIntegerIds = profile.integerAccountId
    const client = { clientId, clientSecret, scopes }
    return oauth2Provider({ ...definition, client, needs, read, hasIntegerIds, hasPkce })
  },
})
