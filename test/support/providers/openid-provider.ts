import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Provider, { type Interaction } from 'oidc-provider'
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js'
import { listen } from '../servers/ports.ts'

/** The built-in class prints a warning when it is used itself. */
class OurStorage extends MemoryAdapter {}

export interface Account {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
}

export interface OpenIdClient {
  readonly clientId: string
  readonly clientSecret: string
  readonly redirectUris: readonly string[]
}

/** A real, certified OpenID provider (oidc-provider) on loopback, whose user agrees to everything. */
export interface OpenIdProvider {
  readonly issuer: string
  /** The user of the browser; `null` for one that cancels. */
  user: Account | null
  /** Shows a page on which the user agrees or cancels. */
  asks: boolean
  close(): Promise<void>
}

export async function startOpenIdProvider(clients: readonly OpenIdClient[]): Promise<OpenIdProvider> {
  const accounts = new Map<string, Account>()
  const server = createServer()
  const port = await listen(server)
  const issuer = `http://127.0.0.1:${port}`

  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
  const provider = new Provider(issuer, {
    adapter: OurStorage,
    jwks: { keys: [{ ...key, use: 'sig', alg: 'RS256' }] },
    clients: clients.map(({ clientId, clientSecret, redirectUris }) => ({
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: redirectUris,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'refresh_token'],
    })),
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    cookies: { keys: ['only a test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => accounts.get(id) ?? { sub: id } }),
    interactions: { url: (_context: unknown, { uid }: Interaction) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    pkce: { required: () => true, methods: ['S256'] },
    ttl: { Interaction: 60, Grant: 60, Session: 60, AccessToken: 60, IdToken: 60, RefreshToken: 60 },
  })
  const callback = provider.callback()
  const opened: OpenIdProvider = {
    issuer,
    user: { sub: 'ada' },
    asks: false,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const user = request.url?.endsWith('?cancel') ? null : opened.user
    if (opened.asks && !request.url?.includes('?')) {
      response.setHeader('Content-Type', 'text/html; charset=utf-8')
      response.end(
        `<title>${issuer}</title><p>${user?.email}: <a href="?agree">Continue</a> <a href="?cancel">Cancel</a>`,
      )
      return
    }
    if (user === null) {
      await provider.interactionFinished(request, response, { error: 'access_denied' })
      return
    }
    accounts.set(user.sub, user)
    const { params } = await provider.interactionDetails(request, response)
    const grant = new provider.Grant({ accountId: user.sub, clientId: String(params.client_id) })
    grant.addOIDCScope(String(params.scope))
    const consent = { grantId: await grant.save() }
    await provider.interactionFinished(request, response, { login: { accountId: user.sub }, consent })
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/interaction/')) return callback(request, response)
    return interact(request, response).catch((error: unknown) => {
      response.statusCode = 500
      response.end(String(error))
    })
  })
  return opened
}

/** Follows redirects as a browser with an empty cookie jar would, until it is sent to `redirectUri`. */
export async function browse(authorizationUrl: string, redirectUri: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let url = new URL(authorizationUrl)
  for (let step = 0; step < 10; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split(/=(.*)/s)
      cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`no redirect: ${response.status} ${await response.text()}`)
    url = new URL(location, url)
    if (url.href.startsWith(redirectUri)) return url.searchParams
  }
  throw new Error('too many redirects')
}
