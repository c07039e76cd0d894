// The policy that demands a second factor, at each door.
import { expect } from 'chai'
import { anAddress, refused, seen } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, logIn, logInByCookie, register } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { challenged, codeOf, enrolFactor, prove } from '../support/scenes/factors.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const closed = refused(403, 'SECOND_FACTOR_REQUIRED')
const tokenOf = ({ body }: Answer) => (body as { access_token: string }).access_token // safe: its use proves it

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security?: readonly object[] }>>>>
}

/** The operations of a login that has no second factor yet. */
const open = [
  'DELETE /users/me/sessions',
  'DELETE /users/me/sessions/{id}',
  'GET /users/me/factors',
  'GET /users/me/sessions',
  'POST /auth/cookie/logout',
  'POST /auth/jwt/logout',
  'POST /users/me/factors/passkeys',
  'POST /users/me/factors/passkeys/options',
  'POST /users/me/factors/totp',
  'POST /users/me/factors/totp/confirm',
]

for (const [policy, isOfAll] of [
  ['required', true],
  ['superusers', false],
] as const) {
  describe(`a second factor that is demanded (${policy})`, () => {
    let service: TestService
    let url: string
    let late = 0
    const now = () => new Date(Date.now() + late)
    const env = {
      PORTCULLIS_SECURITY__SECOND_FACTOR: policy,
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_LIMITS__ENABLED: 'false',
      PORTCULLIS_USERS__SELF_EXPORT: 'true',
      PORTCULLIS_USERS__SELF_DELETION: 'true',
      PORTCULLIS_SECURITY__TRUSTED_BROWSER_DAYS: '30',
    }

    before(async () => {
      service = await startTestService(env, { clock: now })
      url = service.url
    })
    after(() => service.stop())

    const me = (bearer: string, query = '') => call(url, 'GET', `/users/me${query}`, { bearer })

    it('closes every operation but those that add it, to a superuser without it', async () => {
      const bearer = await superuserToken(url, env, service.dataFolder)
      const { paths } = (await call(url, 'GET', '/openapi.json')).body as Document // safe: it is our document
      const ofUsers = Object.entries(paths).flatMap(([path, operations]) =>
        Object.entries(operations).flatMap(([method, { security }]) =>
          security === undefined || security.some((one) => Object.keys(one).length === 0)
            ? []
            : [`${method.toUpperCase()} ${path}`],
        ),
      )
      const seenOpen: string[] = []
      for (const operation of ofUsers.sort().reverse()) {
        const [method = '', path = ''] = operation.split(' ')
        const at = path.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000')
        const isEnd = open.includes(operation) && (method === 'DELETE' || path.endsWith('/logout'))
        if (isEnd)
          seenOpen.push(operation) // tried below, because it ends this login
        else {
          const json = ['POST', 'PATCH'].includes(method) ? { json: {} } : {}
          const answer = await call(url, method, at, { bearer, ...json })
          if (answer.status !== 403) seenOpen.push(operation)
          else expect(seen(answer), operation).to.deep.equal(closed)
        }
      }
      expect(seenOpen.sort()).to.deep.equal(open)
      expect((await call(url, 'GET', '/users/me/factors', { bearer })).body).to.include({ is_required: true })
      const sessions = await call(url, 'DELETE', '/users/me/sessions/none', { bearer })
      expect(sessions.status).to.equal(404)
      expect((await call(url, 'POST', '/auth/jwt/logout', { bearer })).status).to.equal(204)
    })

    it(
      `${isOfAll ? 'closes' : 'leaves'} the account of another user without it ${isOfAll ? '' : 'open'}`.trim(),
      async () => {
        const email = anAddress()
        await register(url, email)
        const bearer = await logIn(url, email)
        for (const sent of [{ bearer }, { cookie: await logInByCookie(url, email) }]) {
          const answer = await call(url, 'GET', '/users/me', sent)
          if (isOfAll) expect(seen(answer)).to.deep.equal(closed)
          else expect(answer.status).to.equal(200)
        }
        expect(seen(await me(bearer, '?level=2'))).to.deep.equal(closed)
        for (const path of ['/auth/jwt/logout', '/auth/cookie/logout'])
          expect((await call(url, 'POST', path, { bearer: await logIn(url, email) })).status).to.equal(204)
        expect((await call(url, 'DELETE', '/users/me/sessions', { bearer })).status).to.equal(204)
      },
    )

    it('lets the login that adds it go on, and later ones with it, also in a trusted browser', async () => {
      const root = anAddress()
      await enrol(env, service.dataFolder, [root], { isSuperuser: true })
      const { bearer, secret } = await enrolFactor(url, root, now)
      for (const query of ['', '?level=2']) expect((await me(bearer, query)).status).to.equal(200)
      expect((await call(url, 'GET', `/users/00000000-0000-4000-8000-000000000000`, { bearer })).status).to.equal(404)
      late += 30_000
      const first = await challenged(url, root)
      const json = { challenge: first.challenge, method: 'totp', code: codeOf(secret, now()), trust_browser: true }
      const proved = await call(url, 'POST', '/auth/jwt/second-factor', { json })
      expect((await me(tokenOf(proved))).status).to.equal(200)
      const device = proved.headers
        .getSetCookie()
        .map((one) => one.split(';')[0])
        .join('; ')
      const form = { username: root, password: goodPassword }
      const again = await call(url, 'POST', '/auth/jwt/login', { form, headers: { Cookie: device } })
      expect(again.body).to.have.nested.property('detail.code', 'LOGIN_SECOND_FACTOR_REQUIRED')
      late += 30_000
      const second = await challenged(url, root)
      const token = tokenOf(await prove(url, { challenge: second.challenge, code: codeOf(secret, now()) }))
      expect((await me(token)).status).to.equal(200)
    })
  })
}
