import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { listen } from '../servers/ports.ts'

/** A request as the provider got it. */
export interface Asked {
  readonly method: string
  /** Without a scheme and a query: `api.example.com/user`. */
  readonly address: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly form: URLSearchParams
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; a text as it is. */
  readonly body?: unknown
}

export type Answer = Reply | ((asked: Asked) => Reply) | ((asked: Asked, response: ServerResponse) => void)

/** One server that plays every host of a provider. */
export interface FakeProvider {
  readonly origin: string
  /** In order. */
  readonly asked: Asked[]
  /** Connections that are open now. */
  readonly connections: ReadonlySet<Socket>
  /** Opens each connection of undici to this server, for any host. */
  readonly connect: buildConnector.connector
  /** Sets the answer at `api.example.com/user`. */
  answer(address: string, answer: Answer): void
  /**
   * A token endpoint that gives `token` once for each code of `approve`. The client has to send the verifier of the challenge
   * (RFC 7636 section 4.6) and the same redirect address (RFC 6749 section 4.1.3).
   */
  answerTokens(address: string, token: (asked: Asked) => object, refusal?: Reply, status?: () => number): void
  /** Agrees as a user would. Returns the query of the redirect address. */
  approve(authorizationUrl: string): { code: string; state: string }
  close(): Promise<void>
}

interface Grant {
  readonly challenge: string | null
  readonly redirectUri: string | null
}

/** The answer to a bad code (RFC 6749 section 5.2). */
export const invalidGrant: Reply = { status: 400, body: { error: 'invalid_grant' } }

export async function startFakeProvider(): Promise<FakeProvider> {
  const answers = new Map<string, Answer>()
  const grants = new Map<string, Grant>()
  const asked: Asked[] = []
  const connections = new Set<Socket>()

  const server = createServer(async (request, response) => {
    const one = await read(request)
    asked.push(one)
    const answer = answers.get(one.address) ?? { status: 404, body: 'nothing here' }
    const reply = typeof answer === 'function' ? answer(one, response) : answer
    if (reply !== undefined) send(response, reply)
  })
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.on('close', () => connections.delete(socket))
    socket.on('error', () => undefined)
  })
  const port = await listen(server)

  return {
    origin: `http://127.0.0.1:${port}`,
    asked,
    connections,
    connect(_options, done) {
      const failed = (error: Error) => done(error, null)
      const socket = connect(port, '127.0.0.1', () => {
        socket.off('error', failed)
        done(null, socket)
      }).once('error', failed)
    },
    answer: (address, answer) => void answers.set(address, answer),
    answerTokens(address, token, refusal = invalidGrant, status = () => 200) {
      answers.set(address, (one: Asked) => {
        if (one.form.get('grant_type') === 'refresh_token') return { status: status(), body: token(one) }
        const grant = grants.get(one.form.get('code') ?? '')
        grants.delete(one.form.get('code') ?? '')
        return grant !== undefined && isProven(one.form, grant) ? { status: status(), body: token(one) } : refusal
      })
    },
    approve(authorizationUrl) {
      const { searchParams } = new URL(authorizationUrl)
      const code = randomBytes(12).toString('hex')
      const challenge = searchParams.get('code_challenge')
      grants.set(code, { challenge, redirectUri: searchParams.get('redirect_uri') })
      return { code, state: searchParams.get('state') ?? '' }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function isProven(form: URLSearchParams, { challenge, redirectUri }: Grant): boolean {
  const verifier = form.get('code_verifier')
  const shown = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url')
  return shown === challenge && form.get('redirect_uri') === redirectUri
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const url = new URL(request.url ?? '/', 'http://any')
  return {
    method: request.method ?? '',
    address: `${request.headers.host}${url.pathname}`,
    query: url.searchParams,
    headers: request.headers,
    form: new URLSearchParams(Buffer.concat(chunks).toString()),
  }
}

function send(response: ServerResponse, { status = 200, headers, body = '' }: Reply): void {
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers })
  response.end(isText ? body : JSON.stringify(body))
}

/** Ways not to answer. */
export const misbehaviour = {
  refuses: { status: 503, body: { error: 'temporarily_unavailable' } },
  hangs: () => undefined,
  drips(_asked: Asked, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{')
    const timer = setInterval(() => response.write(' '), 1000)
    response.on('close', () => clearInterval(timer))
  },
  floods(_asked: Asked, response: ServerResponse): void {
    const chunk = Buffer.alloc(65_536, ' ')
    let left = 1600 // 100 MB
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = (): void => {
      while (left > 0 && !response.destroyed) {
        left -= 1
        if (!response.write(chunk)) return
      }
      response.end()
    }
    response.on('drain', more)
    more()
  },
  'sends HTML': { body: '<!doctype html><title>Sign in</title>', headers: { 'content-type': 'text/html' } },
  'sends JSON that is no object': { body: [1, 2, 3] },
  'redirects in a loop': (asked: Asked): Reply => ({ status: 307, headers: { location: `https://${asked.address}` } }),
  'closes the connection': (_asked: Asked, response: ServerResponse): void => void response.destroy(),
} satisfies Record<string, Answer>
