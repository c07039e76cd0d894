import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Answer, answerOf } from './client.ts'
import { expectDescribed } from './described.ts'

interface Raw {
  readonly method: string
  /** Sent as it is; `fetch` would tidy it up first. */
  readonly path: string
  /** For the header of this name; that of the address, unless it is given. */
  readonly host?: string
  /** Sent as they are; a name may occur twice. */
  readonly headers?: readonly (readonly [string, string])[]
  /** The address of this machine from which it is sent. */
  readonly localAddress?: string
  /** Without a `Content-Length` among the headers they are sent in chunks. */
  readonly chunks?: readonly (string | Uint8Array)[]
}

/** A request that `fetch` would not make; its answer is compared with the OpenAPI document as any other. */
export async function rawCall(url: string, raw: Raw): Promise<Answer> {
  const answer = await send(url, raw)
  await expectDescribed(url, raw.method, raw.path, answer)
  return answer
}

/** A request with any `Host`, which `fetch` does not allow; unlike `rawCall`, also for paths outside the OpenAPI document. */
export function callAt(url: string, host: string, method: string, path: string, json?: unknown): Promise<Answer> {
  const asBrowser = ['Connection', 'keep-alive'] as const
  if (json === undefined) return send(url, { method, path, host, headers: [asBrowser] })
  const body = JSON.stringify(json)
  const type = ['Content-Type', 'application/json'] as const
  const headers = [asBrowser, type, ['Content-Length', `${body.length}`] as const]
  return send(url, { method, path, host, headers, chunks: [body] })
}

function send(url: string, { method, path, host, headers = [], chunks = [], localAddress }: Raw): Promise<Answer> {
  const { hostname, port, host: ofUrl, pathname } = new URL(url)
  const flat = [['Host', host ?? ofUrl], ...headers].flat()
  const whole = pathname === '/' ? path : `${pathname}${path}`
  return new Promise((resolve, reject) => {
    const from = localAddress === undefined ? {} : { localAddress, family: 4 }
    const options = { hostname, port, method, path: whole, headers: flat, agent: false, ...from }
    const sent = request(options, async (response) => {
      const received = new Headers()
      for (const [name, values = []] of Object.entries(response.headersDistinct)) {
        for (const value of values) received.append(name, value)
      }
      resolve(answerOf(response.statusCode ?? 0, received, await text(response)))
    })
    sent.on('error', reject)
    for (const chunk of chunks) sent.write(chunk)
    sent.end()
  })
}
