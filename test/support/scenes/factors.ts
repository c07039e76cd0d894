import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { type Answer, call, goodPassword, logIn, register, type Sent } from '../http/client.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** The code of an authenticator app, computed as RFC 4226 section 5.3 and RFC 6238 section 4 describe. */
export function codeOf(secret: string, at: Date): string {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at.getTime() / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

export interface Enrolled {
  readonly email: string
  readonly secret: string
  readonly recoveryCodes: readonly string[]
  /** The bearer token that the login has since it added the factor. It counts as proved by both factors. */
  readonly bearer: string
}

/** A new user with an authenticator app. Its first code is used up. */
export async function enrolled(url: string, email: string, now: () => Date): Promise<Enrolled> {
  await register(url, email)
  return await enrolFactor(url, email, now)
}

/** The same for a user who is there. */
export async function enrolFactor(url: string, email: string, now: () => Date): Promise<Enrolled> {
  const { login, ...added } = await addApp(url, { bearer: await logIn(url, email) }, now)
  return { email, bearer: login.bearer ?? '', ...added }
}

type Login = Pick<Sent, 'bearer' | 'cookie'>

/** Adds an authenticator app as the first factor. Its first code is used up, and the login has a new credential. */
export async function addApp(url: string, by: Login, now: () => Date) {
  const begun = await call(url, 'POST', '/users/me/factors/totp', by)
  expect(begun.status).to.equal(200)
  const { secret, setup } = begun.body as { secret: string; setup: string } // safe: its use proves it
  const json = { setup, code: codeOf(secret, now()) }
  const added = await call(url, 'POST', '/users/me/factors/totp/confirm', { ...by, json })
  expect(added.status).to.equal(200)
  const { recovery_codes: recoveryCodes } = added.body as { recovery_codes: string[] } // safe: its use proves it
  return { secret, recoveryCodes, login: loginAfter(added) }
}

/** The login of the request that added the first factor. */
export function loginAfter({ body, headers }: Answer): Login {
  const { access_token: bearer } = body as { access_token?: string } // safe: it is absent from other answers
  const [cookie = ''] = (headers.getSetCookie()[0] ?? '').split(';')
  return bearer === undefined ? { cookie } : { bearer }
}

interface Challenged {
  readonly detail: { readonly code: string; readonly challenge: string; readonly methods: readonly string[] }
}

/** The answer to the password of a user with a second factor, and the cookie that binds it to the browser, if any. */
export async function challenged(
  url: string,
  email: string,
  backend = 'jwt',
): Promise<Challenged['detail'] & { readonly cookie: string }> {
  const answer = await call(url, 'POST', `/auth/${backend}/login`, {
    form: { username: email, password: goodPassword },
  })
  expect(answer.status).to.equal(400)
  const { detail } = answer.body as Challenged // safe: asserted by the next line
  expect(detail).to.deep.include({ code: 'LOGIN_SECOND_FACTOR_REQUIRED' })
  const [cookie = ''] = answer.headers.getSetCookie()
  return { ...detail, cookie: cookie.split(';')[0] ?? '' }
}

interface Proof {
  readonly challenge: string
  readonly code: string
  readonly method?: 'totp' | 'recovery_code'
  readonly backend?: string
  readonly cookie?: string
}

export function prove(
  url: string,
  { challenge, code, method = 'totp', backend = 'jwt', cookie }: Proof,
): Promise<Answer> {
  const sent = { json: { challenge, method, code }, ...(cookie !== undefined && { cookie }) }
  return call(url, 'POST', `/auth/${backend}/second-factor`, sent)
}
