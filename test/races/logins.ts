import { expect } from 'chai'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { type Person, type Site, tokenFor } from './site.ts'

/** An act that ends the credentials of a user. */
interface Ending {
  readonly title: string
  readonly byWhom: 'anybody' | 'a superuser'
  /** Runs before the race. Its result is for `end`. */
  prepare(site: Site, person: Person): Promise<string>
  /** Resolves when the end is acknowledged; answers the credential that outlives it, if there is one. */
  end(site: Site, person: Person, prepared: string): Promise<string | null>
  /** Reverts the act where that is possible. */
  undo?(site: Site, person: Person): Promise<void>
  readonly passwordAfter: string | null
}

const newPassword = `${goodPassword} anew`

async function change(site: Site, { id }: Person, json: object): Promise<void> {
  const { status, text } = await call(site.url(1), 'PATCH', `/users/${id}`, { json, bearer: site.superuser() })
  expect(status, text).to.equal(200)
}

const endings: readonly Ending[] = [
  {
    title: 'a password change',
    byWhom: 'anybody',
    passwordAfter: newPassword,
    prepare: (site, { email }) => logIn(site.url(), email),
    async end(site, _person, bearer) {
      const { status } = await call(site.url(1), 'PATCH', '/users/me', { json: { password: newPassword }, bearer })
      expect(status).to.equal(200)
      return bearer
    },
  },
  {
    title: 'a password reset',
    byWhom: 'anybody',
    passwordAfter: newPassword,
    prepare: (site, { email }) => tokenFor(site, '/auth/forgot-password', 'on_after_forgot_password', email),
    async end(site, _person, token) {
      const json = { token, password: newPassword }
      expect((await call(site.url(1), 'POST', '/auth/reset-password', { json })).status).to.equal(200)
      return null
    },
  },
  {
    title: 'a deactivation',
    byWhom: 'a superuser',
    passwordAfter: goodPassword,
    prepare: async () => '',
    async end(site, person) {
      await change(site, person, { is_active: false })
      return null
    },
    undo: (site, person) => change(site, person, { is_active: true }),
  },
  {
    title: 'a deletion',
    byWhom: 'a superuser',
    passwordAfter: null,
    prepare: async () => '',
    async end(site, { id }) {
      const { status } = await call(site.url(1), 'DELETE', `/users/${id}`, { bearer: site.superuser() })
      expect(status).to.equal(204)
      return null
    },
  },
]

type Credential = { readonly bearer: string } | { readonly cookie: string }

/** Logs in; `null` when that is refused. */
async function credential(url: string, email: string, backend: 'jwt' | 'cookie'): Promise<Credential | null> {
  const form = { username: email, password: goodPassword }
  const { status, body, headers, text } = await call(url, 'POST', `/auth/${backend}/login`, { form })
  if (status === 200) return { bearer: (body as { access_token: string }).access_token } // safe: 200 carries a token
  if (status === 204) return { cookie: (headers.get('Set-Cookie') ?? '').split(';')[0] ?? '' }
  if (status === 503) return null // a busy machine hashes too slowly for all of them
  expect({ status, text }).to.deep.equal({ status: 400, text: '{"detail":"LOGIN_BAD_CREDENTIALS"}' })
  return null
}

async function lives(url: string, presented: Credential): Promise<boolean> {
  const { status } = await call(url, 'GET', '/users/me', presented)
  expect(status).to.be.oneOf([200, 401])
  return status === 200
}

/** Four logins of a person. The first one that is answered starts the end. Returns the issued credentials. */
async function race(site: Site, person: Person, ending: Ending, prepared: string) {
  let begin: () => void = () => {}
  const firstLogin = new Promise<void>((resolve) => {
    begin = resolve
  })
  const ended = firstLogin.then(() => ending.end(site, person, prepared))
  const logins = (['jwt', 'cookie', 'jwt', 'cookie'] as const).map(async (backend, caller) => {
    const got = await credential(site.url(caller), person.email, backend)
    begin()
    return got
  })
  const issued = (await Promise.all(logins)).filter((got) => got !== null)
  return { issued, survivor: await ended }
}

export function loginRaces(running: () => Site, byWhom: readonly Ending['byWhom'][]): void {
  const possible = endings.filter((ending) => byWhom.includes(ending.byWhom))

  it(`leaves no live session of a login that races ${possible.map(({ title }) => title).join(', ')}`, async function () {
    const site = running()
    this.timeout(300_000)
    for (let round = 0; round < rounds(1, 8); round += 1) {
      const users = await site.people(rounds(8, 16))
      const races = users.map((person, at) => ({ person, ending: possible[at % possible.length] ?? endings[0] }))
      const prepared = await Promise.all(races.map(async ({ person, ending }) => ending?.prepare(site, person) ?? ''))
      await Promise.all(
        races.map(async ({ person, ending }, at) => {
          if (ending === undefined) return
          const { issued, survivor } = await race(site, person, ending, prepared[at] ?? '')
          expect(issued.length, 'logins that succeeded').to.be.at.least(1)
          const alive = async () =>
            (await Promise.all(issued.map((one, caller) => lives(site.url(caller), one)))).filter(Boolean).length
          expect(await alive(), `live after ${ending.title}`).to.equal(0)

          await ending.undo?.(site, person)
          if (ending.passwordAfter !== null) await logIn(site.url(), person.email, ending.passwordAfter)
          expect(await alive(), `live again after ${ending.title}`).to.equal(0)
          if (survivor !== null) expect(await lives(site.url(), { bearer: survivor })).to.equal(true)
        }),
      )
    }
  })
}
