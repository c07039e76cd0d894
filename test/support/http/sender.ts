import { Agent, request } from 'node:http'

const [json, form] = ['application/json', 'application/x-www-form-urlencoded']

type Texts = Readonly<Record<string, string>>

export interface Timed {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly milliseconds: number
}

/** Sends requests without a check of their answers: for many requests, and to measure answer times. */
export interface Sender {
  postJson(path: string, body: unknown): Promise<Timed>
  patchJson(path: string, body: unknown, headers?: Texts): Promise<Timed>
  postForm(path: string, fields: Texts, headers?: Texts): Promise<Timed>
  get(path: string, headers?: Texts): Promise<Timed>
  close(): void
}

/** A client that keeps at most so many connections alive. Times are from the first byte sent to the last received. */
export function sender(url: string, connections = 1): Sender {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(url)

  function send(method: string, path: string, headers: Texts, body = ''): Promise<Timed> {
    return new Promise((resolve, reject) => {
      const began = performance.now()
      const sent = request({ agent, hostname, port, method, path, headers }, (answer) => {
        answer.resume()
        answer.once('end', () => {
          const { statusCode: status = 0, headers } = answer
          resolve({ status, retryAfter: headers['retry-after'], milliseconds: performance.now() - began })
        })
      })
      sent.once('error', reject)
      sent.end(body)
    })
  }

  function sendBody(method: string, path: string, type: string, body: string, headers: Texts = {}): Promise<Timed> {
    const described = { 'Content-Type': type, 'Content-Length': `${Buffer.byteLength(body)}` }
    return send(method, path, { ...described, ...headers }, body)
  }

  return {
    postJson: (path, body) => sendBody('POST', path, json, JSON.stringify(body)),
    patchJson: (path, body, headers) => sendBody('PATCH', path, json, JSON.stringify(body), headers),
    postForm(path, fields, headers) {
      return sendBody('POST', path, form, new URLSearchParams(fields).toString(), headers)
    },
    get: (path, headers = {}) => send('GET', path, headers),
    close: () => agent.destroy(),
  }
}

/** Does `act` for 0 to `count` - 1, at most `atOnce` of them at the same time. Answers in order. */
export async function each<T>(count: number, atOnce: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  async function hand(): Promise<void> {
    for (let index = next++; index < count; index = next++) results[index] = await act(index)
  }
  await Promise.all(Array.from({ length: Math.min(count, atOnce) }, hand))
  return results
}
