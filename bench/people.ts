import type { Shot } from './load.ts'
import type { Server } from './processes.ts'

export const password = 'a quite long pass phrase'

export interface Person {
  readonly email: string
  readonly bearer: string
  readonly cookie: string
}

/** Registers `count` people and logs each in by both backends, some at a time. */
export async function people({ url }: Server, count: number, name = 'someone'): Promise<readonly Person[]> {
  const made: Person[] = []
  for (let first = 0; first < count; first += 8) {
    const numbers = Array.from({ length: Math.min(8, count - first) }, (_, turn) => first + turn)
    made.push(...(await Promise.all(numbers.map((number) => person(url, `${name}.${number}@example.com`)))))
  }
  return made
}

async function person(url: string, email: string): Promise<Person> {
  await answered(url, registration(email), 201)
  const byJwt = await answered(url, login(email), 200)
  const { access_token: token }: { access_token: string } = JSON.parse(await byJwt.text())
  const byCookie = await answered(url, { ...login(email), path: '/auth/cookie/login' }, 204)
  const [cookie = ''] = (byCookie.headers.get('Set-Cookie') ?? '').split(';')
  return { email, bearer: token, cookie }
}

async function answered(url: string, { path, ...sent }: Shot, status: number): Promise<Response> {
  const answer = await fetch(`${url}${path}`, sent)
  if (answer.status !== status) throw new Error(`${path} answered ${answer.status} ${await answer.text()}`)
  return answer
}

export const registration = (email: string): Shot => ({
  method: 'POST',
  path: '/auth/register',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ email, password }),
})

export const login = (email: string): Shot => ({
  method: 'POST',
  path: '/auth/jwt/login',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ username: email, password }).toString(),
})

export const meByBearer = ({ bearer }: Person): Shot => ({
  path: '/users/me',
  headers: { Authorization: `Bearer ${bearer}` },
})

export const meByCookie = ({ cookie }: Person): Shot => ({ path: '/users/me', headers: { Cookie: cookie } })
