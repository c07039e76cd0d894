import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { addAbortSignal } from 'node:stream'
import type { Agent, buildConnector } from 'undici'
import { CodeRefused, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { valueAt } from './identity.ts'
import { type OutboundProxy, proxyConnector } from './proxy.ts'

/** The limits of one call to a provider. */
export const limits = {
  connectMs: 2000,
  /** The time for all steps of one call together. */
  totalMs: 5000,
  /** Tokens, profiles and keys have some kilobytes. Reading more would slow down other logins. */
  responseBytes: 262_144,
}

interface OutboundRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

/**
 * HTTP requests to providers: TLS certificates are verified, redirects are not followed, bodies are not decompressed.
 * The time to connect and the size of an answer are bounded; the signal bounds the whole time.
 */
export interface Outbound {
  /** Resolves with the whole answer. */
  fetch(url: string, request: OutboundRequest): Promise<Response>
  /** The same limits, except the size, for a client that uses `node:http`. */
  agent(url: string, signal: AbortSignal): Promise<HttpAgent>
}

const checked = { timeout: limits.connectMs, rejectUnauthorized: true }

/** @param connect opens connections; tests connect every host to their own server */
export function openOutbound(
  connect: Agent.Options['connect'] = checked,
  proxy: OutboundProxy | null = null,
): Outbound {
  let dispatcher: Agent | undefined

  async function connector(): Promise<buildConnector.connector> {
    const { buildConnector } = await import('undici') // loaded where a provider is asked
    const direct = typeof connect === 'function' ? connect : buildConnector({ ...checked, ...connect })
    return proxy === null ? direct : proxyConnector(proxy, direct, limits.connectMs)
  }

  return {
    async fetch(url, { method, headers, body = null, signal }) {
      demandSecure(url)
      const { Agent, request } = await import('undici')
      // Connections are not reused: logins are rare, and a connection that the provider has closed would fail one.
      dispatcher ??= new Agent({ connect: await connector(), pipelining: 0, maxResponseSize: limits.responseBytes })
      const answer = await request(url, { dispatcher, method, headers, body, signal })
      const bytes = await answer.body.arrayBuffer()
      return new Response(bytes.byteLength === 0 ? null : bytes, {
        status: answer.statusCode,
        headers: Object.entries(answer.headers).flatMap(([name, value]) =>
          [value ?? []].flat().map((one): [string, string] => [name, one]),
        ),
      })
    },

    async agent(url, signal) {
      demandSecure(url)
      const open = await connector()
      const { protocol, host, hostname, port } = new URL(url)
      const address = { protocol, host, hostname: hostname.replace(/[[\]]/g, ''), port } // IPv6: `[::1]`
      return Object.assign(protocol === 'https:' ? new HttpsAgent() : new HttpAgent(), {
        createConnection(_options: unknown, done: buildConnector.Callback) {
          open(address, (...opened) => {
            if (opened[0] === null) addAbortSignal(signal, opened[1])
            done(...opened)
          })
        },
      })
    },
  }
}

function demandSecure(url: string): void {
  if (!isSecure(url)) throw new ProviderFailed('an endpoint of the provider is neither https nor on loopback')
}

/** Whether we may send requests to an address: it uses TLS, or leads to this machine. */
export function isSecure(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/[[\]]/g, '')))
}

/**
 * One deadline for all steps of `work`. Every fault except a refusal becomes `ProviderFailed`, whose text has only
 * error names, codes and statuses: messages and causes quote answers, which hold tokens.
 */
export async function underDeadline<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const signal = AbortSignal.timeout(limits.totalMs)
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ProviderFailed('the provider did not answer in time')), {
      once: true,
    })
  })
  try {
    return await Promise.race([work(signal), late])
  } catch (error) {
    throw outcomeOf(error)
  }
}

function outcomeOf(error: unknown): CodeRefused | ProviderFailed {
  const chain = causes(error)
  const judged = chain.find((one) => one instanceof CodeRefused || one instanceof ProviderFailed)
  if (judged instanceof CodeRefused || judged instanceof ProviderFailed) return judged
  return new ProviderFailed(chain.map(nameOf).join(' < '))
}

function causes(error: unknown, depth = 0): unknown[] {
  if (!(error instanceof Error) || depth > 8) return []
  return [error, ...causes(error.cause, depth + 1)]
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : ''
  const status = error.cause instanceof Response ? error.cause.status : valueAt(error, 'status')
  const member = valueAt(error, 'cause.attribute') ?? valueAt(error, 'cause.claim')
  const named = typeof member === 'string' ? ` "${member}"` : '' // openid-client names the member that it refuses
  return `${error.name}${code}${named}${whereIn(error)}${typeof status === 'number' ? ` (status ${status})` : ''}`
}

/** The host that was not found, or the address that refused the connection, in an error of the system. */
function whereIn(error: Error): string {
  const [hostname, address, port] = ['hostname', 'address', 'port'].map((name) => valueAt(error, name))
  if (typeof hostname === 'string') return ` ${hostname}`
  return typeof address === 'string' && typeof port === 'number' ? ` ${address}:${port}` : ''
}
