import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  ClientAuth,
  Configuration,
  CustomFetchOptions,
  ServerMetadata,
  TokenEndpointResponse,
} from 'openid-client'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { OAuthIdentity } from '../../domain/oauth-account.ts'
import { claimsReader } from './claims.ts'
import { acceptedAlgorithms, algorithmOf, demandHash, demandHmac, demandParty, objectionToIdToken } from './id-token.ts'
import { demandTokenAnswer, fieldsIn, identityOf, type Profile, profileIn, tokensOf, valueAt } from './identity.ts'
import type { ProviderNeeds } from './kind.ts'
import { accountInTenant, demandKeyOfIssuer, isForManyTenants } from './many-issuers.ts'
import { limits, underDeadline } from './outbound.ts'
import { remembered } from './remembered.ts'

type Library = typeof import('openid-client')

/** The way in which a client authenticates at the token endpoint. It needs the loaded library. */
export type Authentication = (library: Library) => ClientAuth

interface OpenIdDefinition {
  readonly client: { readonly clientId: string; readonly scopes: readonly string[] }
  readonly needs: ProviderNeeds
  readonly issuer: string
  /** The address of the metadata, where it is not below the issuer. */
  readonly discoveryUrl?: string
  readonly authenticate: Authentication
  /** The key of ID tokens of HS256. Without it, only those by a published key are accepted. */
  readonly clientSecret?: string
  /** The only algorithm of ID tokens; by default those of the metadata. */
  readonly idTokenAlgorithm?: 'HS256'
  /** Reads the address from the claims; by default as OpenID Connect Core section 5.1 names it. */
  readonly read?: (claims: unknown, isForMany: boolean) => Omit<Profile, 'accountId'>
  /** Further parameters that its authorization endpoint needs. */
  readonly authorizeParameters?: Readonly<Record<string, string>>
  /**
   * `false` where the provider rejects PKCE. All others use it. Without PKCE, the nonce ties a code to its journey (RFC
   * 9700 section 2.1.1).
   */
  readonly hasPkce?: boolean
  /** Whether its subjects are unique only within a tenant (`tid`). */
  readonly hasTenants?: boolean
}

/** The state of one call. All calls share one configuration, so openid-client cannot hold it. */
interface Call {
  readonly signal: AbortSignal
  /**
   * The redirect address of the authorization request. openid-client would take the callback address, without its
   * query.
   */
  readonly redirectUri?: string
  /** The answer of the token endpoint. */
  exchanged?: unknown
}

/** The provider as its metadata describe it. */
interface Discovered {
  readonly config: Configuration
  /** Reads ID tokens of HS256 only. */
  readonly byHmac: Configuration
  /** The algorithms that an ID token may have. */
  readonly algorithms: readonly string[]
}

/** A provider of OpenID Connect, discovered by its issuer. The signatures of its ID tokens are verified as well. */
export function openIdConnectProvider({ client, needs, ...definition }: OpenIdDefinition): OAuthProvider {
  const { hasPkce = true, hasTenants = false } = definition
  const library = import('openid-client') // deployments without such a provider do not load it
  library.catch(() => undefined)
  const calls = new AsyncLocalStorage<Call>()
  const configuration = remembered(needs.clock, () => underDeadline((signal) => calls.run({ signal }, discover)))

  async function discover(): Promise<Discovered> {
    const openId = await library
    const { discoveryUrl, issuer } = definition
    const server = new URL(discoveryUrl ?? issuer)
    const authenticate = definition.authenticate(openId)
    const insecure = server.protocol === 'http:' ? [openId.allowInsecureRequests] : []
    const config = await openId
      .discovery(server, client.clientId, {}, authenticate, {
        [openId.customFetch]: send,
        execute: [openId.enableNonRepudiationChecks, ...insecure],
      })
      .catch((error: unknown) => {
        throw valueAt(error, 'code') === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' ? otherIssuer() : error
      })
    const metadata = config.serverMetadata()
    // openid-client does not compare the issuer if it gets the whole address of the metadata.
    if (discoveryUrl !== undefined && !isSame(new URL(issuer).href, metadata.issuer)) throw otherIssuer()
    const hmac = { id_token_signed_response_alg: 'HS256' }
    const byHmac = new openId.Configuration(metadata, client.clientId, hmac, authenticate)
    for (const allow of insecure) allow(byHmac)
    for (const one of [config, byHmac]) one[openId.customFetch] = (url, options) => answer(metadata, url, options)
    return { config, byHmac, algorithms: acceptedAlgorithms(metadata, definition) }
  }

  /** The answer of an endpoint of the metadata. */
  async function answer(metadata: ServerMetadata, url: string, options: CustomFetchOptions): Promise<Response> {
    if (isSame(url, metadata.token_endpoint)) return await tokenAnswer(url, options)
    const response = await send(url, options)
    const isUserInfo = isSame(url, metadata.userinfo_endpoint)
    if (!isUserInfo || response.headers.get('content-type')?.includes('application/jwt')) return response
    return Response.json(await profileIn(response))
  }

  /** openid-client verifies no HMAC, so an answer with an ID token of HS256 is read by `byHmac`, and verified here. */
  async function granted<Answer extends TokenEndpointResponse>(
    { config, byHmac, algorithms }: Discovered,
    call: Call,
    ask: (config: Configuration) => Promise<Answer>,
  ): Promise<Answer> {
    if (algorithms.join() !== 'HS256') {
      try {
        return await ask(config)
      } catch (error) {
        if (!algorithms.includes('HS256') || algorithmOf(valueAt(call.exchanged, 'id_token')) !== 'HS256') throw error
      }
    }
    const answered = await ask(byHmac)
    if (answered.id_token !== undefined) demandHmac(answered.id_token, definition.clientSecret ?? '')
    return answered
  }

  async function send(url: string, { method, headers, body }: CustomFetchOptions): Promise<Response> {
    const signal = calls.getStore()?.signal ?? AbortSignal.timeout(limits.totalMs)
    const text = body === undefined || body === null ? {} : { body: String(body) }
    return await needs.outbound.fetch(url, { method, headers, ...text, signal })
  }

  /** The members that openid-client verifies. `tokensOf` reads all others, as for a provider without an ID token. */
  async function tokenAnswer(url: string, options: CustomFetchOptions): Promise<Response> {
    const call = calls.getStore()
    const answer = call?.exchanged ?? (await exchanged(url, options, call?.redirectUri)) // a code works once
    const { accessToken } = tokensOf(answer, needs.clock())
    if (call !== undefined) call.exchanged = answer
    return Response.json({ access_token: accessToken, token_type: 'bearer', id_token: valueAt(answer, 'id_token') })
  }

  async function exchanged(url: string, options: CustomFetchOptions, redirectUri?: string): Promise<unknown> {
    if (redirectUri !== undefined && options.body instanceof URLSearchParams && options.body.has('redirect_uri')) {
      options.body.set('redirect_uri', redirectUri)
    }
    const response = await send(url, options)
    const body: unknown = await response.json().catch(() => null)
    demandTokenAnswer(response.status, body)
    return body
  }

  async function claimsOf(config: Configuration, accessToken: string, idToken: Readonly<Record<string, unknown>>) {
    const { issuer, userinfo_endpoint: userInfo } = config.serverMetadata()
    const read = (claims: unknown) => (definition.read ?? standardClaims)(claims, isForManyTenants(issuer))
    // The address and its `email_verified` must come from one source. Section 5.3.2: the subject must equal that of the ID
    // token.
    const own = read(idToken)
    const fields = fieldsIn([idToken], needs.fields)
    const isComplete = own.email !== undefined && Object.keys(fields).length === Object.keys(needs.fields ?? {}).length
    if (isComplete || userInfo === undefined) return { profile: own, fields }
    const { fetchUserInfo } = await library
    const others = await fetchUserInfo(config, accessToken, String(idToken.sub))
    const profile = own.email === undefined ? read(others) : own
    return { profile, fields: fieldsIn([idToken, others], needs.fields) }
  }

  /** The cause for the log, if openid-client has refused the ID token. */
  function objectionTo({ config, algorithms }: Discovered, nonce: string, { exchanged }: Call, error: unknown) {
    if (exchanged === undefined) return null
    const { issuer } = config.serverMetadata()
    const request = { issuer, clientId: client.clientId, nonce, algorithms }
    const objection = objectionToIdToken(valueAt(exchanged, 'id_token'), request, new Date())
    const isSignature = objection === null && valueAt(error, 'code') === 'OAUTH_INVALID_RESPONSE'
    return isSignature ? new ProviderFailed('the signature of the ID token is by no key of "jwks_uri"') : objection
  }

  async function accountOf(config: Configuration, idToken: Readonly<Record<string, unknown>>, jwt: string) {
    const isForMany = isForManyTenants(config.serverMetadata().issuer)
    if (!isForMany && !hasTenants) return idToken.sub
    const accountId = accountInTenant(idToken)
    const { getJwksCache } = await library
    if (isForMany) demandKeyOfIssuer(idToken, getJwksCache(config)?.jwks.keys ?? [], jwt)
    return accountId
  }

  return {
    name: needs.name,
    scopes: client.scopes,

    async authorizationUrl({ state, nonce, redirectUri, codeVerifier, scopes }) {
      const { config } = await configuration()
      const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library
      const challenge = hasPkce && (await calculatePKCECodeChallenge(codeVerifier))
      const parameters = {
        ...definition.authorizeParameters,
        // Section 3.1.2.1: a request without the scope `openid` is not an OpenID Connect request.
        scope: [...new Set(['openid', ...scopes])].join(' '),
        response_type: 'code',
        client_id: client.clientId,
        redirect_uri: redirectUri,
        state,
        nonce,
        ...(challenge && { code_challenge: challenge, code_challenge_method: 'S256' }),
      }
      return await underDeadline(async () => {
        const url = buildAuthorizationUrl(config, parameters)
        // `set` replaces a parameter of the endpoint's own query, where openid-client would append a second one.
        for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
        return url.href
      })
    },

    async identify({ code, state, iss }, { redirectUri, codeVerifier, nonce }) {
      return await underDeadline(async (signal) => {
        const { authorizationCodeGrant } = await library
        const cameBack = new URL(redirectUri)
        cameBack.search = new URLSearchParams({ code, state, ...(iss !== null && { iss }) }).toString()
        const verifier = hasPkce && { pkceCodeVerifier: codeVerifier }
        const checks = { expectedState: state, expectedNonce: nonce, ...verifier, idTokenExpected: true }

        const call: Call = { signal, redirectUri }

        async function identityBy(discovered: Discovered): Promise<OAuthIdentity> {
          const { config } = discovered
          demandIssuer(config, iss)
          const ask = (one: Configuration) => authorizationCodeGrant(one, cameBack, checks)
          const answer = await granted(discovered, call, ask).catch((error: unknown) => {
            throw objectionTo(discovered, nonce, call, error) ?? error
          })
          const idToken = { ...answer.claims() }
          demandParty(idToken, client.clientId)
          demandHash(idToken, answer.id_token ?? '', answer.access_token)
          const accountId = await accountOf(config, idToken, answer.id_token ?? '')
          const tokens = tokensOf(call.exchanged, needs.clock())
          const { profile, fields } = await claimsOf(config, tokens.accessToken, idToken)
          return { ...identityOf({ accountId, ...profile }, tokens, false), fields }
        }

        const discovered = await configuration()
        return await calls.run(call, () => identityBy(discovered))
      })
    },

    async refresh(refreshToken) {
      return await underDeadline(async (signal) => {
        const discovered = await configuration()
        const { refreshTokenGrant } = await library
        const call: Call = { signal }
        const ask = (one: Configuration) => refreshTokenGrant(one, refreshToken)
        const answer = await calls.run(call, () => granted(discovered, call, ask))
        demandHash(answer.claims(), answer.id_token ?? '', answer.access_token)
        const tokens = tokensOf(call.exchanged, needs.clock())
        return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
      })
    },
  }
}

/** Whether `url` is an address of the metadata, which may spell it in another way. */
function isSame(url: string, named = ''): boolean {
  return URL.canParse(named) && new URL(named).href === url
}

/** RFC 9207 section 2.4: checked before the code is sent to a token endpoint. */
function demandIssuer(config: Configuration, iss: string | null): void {
  const { issuer, authorization_response_iss_parameter_supported: isPromised } = config.serverMetadata()
  if (iss === null ? isPromised === true : iss !== issuer) throw new CodeRefused('the callback is from another issuer')
}

const standardClaims = claimsReader({ email: 'email' }, 'email_verified')

function otherIssuer(): ProviderFailed {
  return new ProviderFailed('"issuer" of the metadata is another value, expected the issuer of the settings')
}

/**
 * The method of the settings. The default is HTTP Basic where the provider supports it (as in OpenID Connect Discovery
 * section 3), else the request body.
 */
export function secretAuthentication(secret: string, method?: 'basic' | 'post'): Authentication {
  return ({ ClientSecretBasic, ClientSecretPost }) => {
    return (server, ...request) => {
      const known = server.token_endpoint_auth_methods_supported
      const isBasic = method === undefined ? (known?.includes('client_secret_basic') ?? true) : method === 'basic'
      const authenticate = isBasic ? ClientSecretBasic(secret) : ClientSecretPost(secret)
      authenticate(server, ...request)
    }
  }
}
