import type { Shot } from './load.ts'
import type { Server } from './processes.ts'

export const password = 'a quite long pass phrase'

export interface Person {
  readonly email: string
  readonly bearer: string
  readonly cookie: string
}

interface Whose {
  readonly name?: string
  /** The tenant of the users, in a service with tenants. */
  readonly tenant?: string
  readonly registers?: (email: string) => Shot
}

/** Registers `count` users and logs each in with both backends, eight users at a time. */
export async function people(
  { url }: Pick<Server, 'url'>,
  count: number,
  { name = 'someone', tenant, registers = registration }: Whose = {},
): Promise<readonly Person[]> {
  const send = (shot: Shot, status: number) => answered(url, tenant === undefined ? shot : at(tenant, shot), status)
  const made: Person[] = []
  for (let first = 0; first < count; first += 8) {
    const numbers = Array.from({ length: Math.min(8, count - first) }, (_, turn) => first + turn)
    made.push(...(await Promise.all(numbers.map((number) => person(send, `${name}.${number}@example.com`, registers)))))
  }
  return made
}

type Send = (shot: Shot, status: number) => Promise<Response>

async function person(send: Send, email: string, registers: (email: string) => Shot): Promise<Person> {
  await send(registers(email), 201)
  const byJwt = await send(login(email), 200)
  const { access_token: token }: { access_token: string } = JSON.parse(await byJwt.text())
  const byCookie = await send({ ...login(email), path: '/auth/cookie/login' }, 204)
  const [cookie = ''] = (byCookie.headers.get('Set-Cookie') ?? '').split(';')
  return { email, bearer: token, cookie }
}

async function answered(url: string, { path, ...sent }: Shot, status: number): Promise<Response> {
  const answer = await fetch(`${url}${path}`, sent)
  if (answer.status !== status) throw new Error(`${path} answered ${answer.status} ${await answer.text()}`)
  return answer
}

/** The same request for a tenant of `tenantsByHeader`. */
export const at = (tenant: string, shot: Shot): Shot => ({
  ...shot,
  headers: { ...shot.headers, 'X-Tenant': tenant },
})

/** Settings of a service with tenants by header. */
export const tenantsByHeader = (list: Readonly<Record<string, object>>, more: object = {}) => ({
  tenants: { by: 'header', header: 'X-Tenant', list, ...more },
})

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
