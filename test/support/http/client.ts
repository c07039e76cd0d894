import { setTimeout as delay } from 'node:timers/promises'
import { expectDescribed } from './described.ts'

/** An answer as a client sees it. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed where it is JSON, otherwise the text. */
  readonly body: unknown
  readonly text: string
}

export interface Sent {
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
  readonly bearer?: string
  readonly cookie?: string
}

/** Sends one request. The answer has to match the service's `/openapi.json`. */
export async function call(url: string, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const headers = new Headers(sent.headers)
  let body: string | Uint8Array<ArrayBuffer> | undefined = sent.body
  if (sent.json !== undefined) {
    headers.set('Content-Type', 'application/json')
    body = JSON.stringify(sent.json)
  }
  if (sent.form !== undefined) {
    headers.set('Content-Type', 'application/x-www-form-urlencoded')
    body = new URLSearchParams(sent.form).toString()
  }
  if (sent.bearer !== undefined) headers.set('Authorization', `Bearer ${sent.bearer}`)
  if (sent.cookie !== undefined) headers.set('Cookie', sent.cookie)
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body }),
  })
  const answer = answerOf(response.status, response.headers, await response.text())
  await expectDescribed(url, method, path, answer)
  return answer
}

/** Repeats a request while it is answered with 503: on a busy machine the first one of a tenant may be. */
export async function untilAvailable<A extends Pick<Answer, 'status'>>(ask: () => Promise<A>): Promise<A> {
  for (const deadline = performance.now() + 60_000; ; await delay(200)) {
    const answer = await ask()
    if (answer.status !== 503 || performance.now() > deadline) return answer
  }
}

export function answerOf(status: number, headers: Headers, text: string): Answer {
  const isJson = text !== '' && (headers.get('Content-Type')?.startsWith('application/json') ?? false)
  return { status, headers, body: isJson ? JSON.parse(text) : text, text }
}

export const goodPassword = 'a quite long pass phrase'

/** Registers a new user. */
export async function register(
  url: string,
  email: string,
  password = goodPassword,
): Promise<{ id: string; email: string }> {
  const answer = await call(url, 'POST', '/auth/register', { json: { email, password } })
  if (answer.status !== 201) throw new Error(`register answered ${answer.status} ${answer.text}`)
  return answer.body as { id: string; email: string } // safe: 201 carries a User
}

/** Logs in by the backend `jwt`; answers the token. */
export async function logIn(url: string, email: string, password = goodPassword): Promise<string> {
  const answer = await call(url, 'POST', '/auth/jwt/login', { form: { username: email, password } })
  if (answer.status !== 200) throw new Error(`login answered ${answer.status} ${answer.text}`)
  return (answer.body as { access_token: string }).access_token // safe: 200 carries a token
}

/** Logs in by the backend `cookie`; answers the header that presents the session. */
export async function logInByCookie(url: string, email: string, password = goodPassword): Promise<string> {
  const answer = await call(url, 'POST', '/auth/cookie/login', { form: { username: email, password } })
  const [cookie = ''] = (answer.headers.get('Set-Cookie') ?? '').split(';')
  if (answer.status !== 204 || cookie === '') throw new Error(`login answered ${answer.status} ${answer.text}`)
  return cookie
}
