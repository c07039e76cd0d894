import { request } from 'node:http'
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
  /** Without a `Content-Length` among the headers they are sent in chunks. */
  readonly chunks?: readonly (string | Uint8Array)[]
}

/** A request that `fetch` would not make; its answer is held against the OpenAPI document as any other. */
export async function rawCall(url: string, { method, path, host, headers = [], chunks = [] }: Raw): Promise<Answer> {
  const { hostname, port, host: ofUrl } = new URL(url)
  const answer = await new Promise<Answer>((resolve, reject) => {
    const flat = [['Host', host ?? ofUrl], ...headers].flat()
    const sent = request({ hostname, port, method, path, headers: flat, agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const received = new Headers()
      for (const [name, values] of Object.entries(response.headersDistinct)) {
        for (const value of values ?? []) received.append(name, value)
      }
      resolve(answerOf(response.statusCode ?? 0, received, text))
    })
    sent.on('error', reject)
    for (const chunk of chunks) sent.write(chunk)
    sent.end()
  })
  await expectDescribed(url, method, path, answer)
  return answer
}

/** A request with any `Host`, which `fetch` does not allow; unlike `rawCall`, also for paths outside the OpenAPI document. */
export function callAt(url: string, host: string, method: string, path: string, json?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { host, ...(json !== undefined && { 'content-type': 'application/json' }) }
    const sent = request(`${url}${path}`, { method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const names = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        )
        resolve(answerOf(response.statusCode ?? 0, new Headers(names), Buffer.concat(chunks).toString()))
      })
    })
    sent.on('error', reject)
    sent.end(json === undefined ? undefined : JSON.stringify(json))
  })
}
