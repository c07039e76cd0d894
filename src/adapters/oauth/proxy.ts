import { once } from 'node:events'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { isLoopback } from '../../lib/loopback.ts'
import { urlHost } from '../../lib/url-host.ts'

/** The proxy for requests to other hosts. */
export interface OutboundProxy {
  /** With `http:` or `https:`; user and password are optional. */
  readonly url: URL
  /** Hosts without the proxy, as in `NO_PROXY`: `example.com` and its subdomains, with or without a port; `*` for all. */
  readonly exceptions: readonly string[]
}

/**
 * Opens connections through a tunnel of the proxy (CONNECT, RFC 9110 section 9.3.6), and directly to an exception. TLS
 * is with the provider, so the proxy sees its name only.
 *
 * @param direct opens TLS in the tunnel, and direct connections
 */
export function proxyConnector(proxy: OutboundProxy, direct: buildConnector.connector, connectMs: number) {
  const connector: buildConnector.connector = (options, done) => {
    if (isException(options, proxy.exceptions)) return direct(options, done)
    tunnelTo(options, proxy.url, connectMs).then(
      (httpSocket) => direct({ ...options, httpSocket }, done),
      (error: unknown) => done(error instanceof Error ? error : new Error('the tunnel failed'), null),
    )
  }
  return connector
}

async function tunnelTo({ hostname, port }: buildConnector.Options, proxy: URL, connectMs: number): Promise<Socket> {
  const target = `${urlHost(hostname)}:${port || 443}`
  const credentials = [proxy.username, proxy.password].map(decodeURIComponent).join(':')
  const open = proxy.protocol === 'https:' ? httpsRequest : httpRequest
  const asked: ClientRequest = open({
    host: proxy.hostname.replace(/[[\]]/g, ''),
    port: proxy.port,
    method: 'CONNECT',
    path: target,
    agent: false,
    signal: AbortSignal.timeout(connectMs),
    headers: {
      host: target,
      ...(proxy.username !== '' && { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
  })
  asked.end()
  const [{ statusCode }, socket] = await once(asked, 'connect').catch((error: unknown) => {
    throw new Error('the proxy of HTTPS_PROXY does not answer', { cause: error })
  })
  if (statusCode === 200) return socket
  socket.destroy()
  throw new ProviderFailed(`the proxy of HTTPS_PROXY refuses the connection (status ${statusCode})`)
}

/** A loopback address is never reached through a proxy, since it would be the loopback of the proxy. */
function isException({ hostname, port, protocol }: buildConnector.Options, exceptions: readonly string[]): boolean {
  const host = hostname.toLowerCase()
  if (isLoopback(host)) return true
  return exceptions.some((exception) => {
    const [, name = '', wantedPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(exception.toLowerCase()) ?? []
    if (wantedPort !== undefined && Number(wantedPort) !== Number(port || (protocol === 'https:' ? 443 : 80)))
      return false
    return exception === '*' || (name !== '' && (host === name || host.endsWith(`.${name}`)))
  })
}
