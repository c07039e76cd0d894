import { expect } from 'chai'
import { call, goodPassword, logIn } from './support/http/client.ts'
import { quickest } from './support/scenes/quickest.ts'
import { inPostgres, needsDeployment, onMongo, onSqlite } from './support/services/deployments.ts'
import { startTestService, type TestService } from './support/services/service.ts'

/** Each text, decomposed too, and the first of them that names the same user; `null` for no address. */
const spellings: readonly (readonly [text: string, sameAs: string | null])[] = [
  ['Ä', 'Ä'],
  ['A\u0308', 'Ä'],
  ['ä', 'Ä'],
  ['a\u0308', 'Ä'],
  ['a', 'a'],
  ['ß', 'ß'],
  ['ẞ', 'ß'],
  ['ss', 'ss'],
  ['σ', 'σ'],
  ['ς', 'σ'],
  ['Σ', 'σ'],
  ['İ', 'İ'],
  ['I\u0307', 'İ'],
  ['ı', 'ı'],
  ['i', 'i'],
  ['I', 'i'],
  ['ﬁ', null],
  ['fi', 'fi'],
]

const withLoginName = {
  users: { fields: { name: { type: 'string', unique: true } } },
  backends: { jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' }, loginBy: ['email', 'name'] } },
}

const icu = (locale: string) =>
  inPostgres(`PostgreSQL of ICU's locale ${locale}`, `TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE '${locale}'`)

for (const deployment of [
  onSqlite,
  onMongo,
  inPostgres('PostgreSQL of the locale C', `TEMPLATE template0 LOCALE 'C'`),
  inPostgres('PostgreSQL of the locale C.UTF-8', `TEMPLATE template0 LOCALE 'C.UTF-8'`),
  icu('und'),
  icu('tr-TR'),
]) {
  describe(`spellings of addresses, on ${deployment.name}`, () => {
    let settings: Readonly<Record<string, string>> = {}
    let service: TestService | undefined

    before(async function () {
      await needsDeployment(this, deployment)
      settings = await deployment.settings()
      const env = { ...settings, ...quickest, PORTCULLIS_LIMITS__ENABLED: 'false' }
      service = await startTestService(env, { files: { 'portcullis.config.json': withLoginName } })
    })

    after(async () => {
      await service?.stop()
      await deployment.remove(settings)
    })

    it('name the same users at registration and login as on every other store, also as login names', async () => {
      const url = service?.url ?? ''
      const whoIs = async (loginName: string): Promise<string> => {
        const { body } = await call(url, 'GET', '/users/me', { bearer: await logIn(url, loginName) })
        return (body as { id: string }).id // safe: as described, or `call` throws
      }
      const addressOf = (text: string) => `o${text}o@example.com`
      const known = new Map<string, string>()
      const found: unknown[] = []
      for (const [text] of spellings) {
        const json = { email: addressOf(text), password: goodPassword, name: `o${text}o` }
        const { status } = await call(url, 'POST', '/auth/register', { json })
        if (status === 422) {
          found.push([text, null])
          continue
        }
        const id = await whoIs(addressOf(text))
        expect(await whoIs(`o${text}o`), `the login name o${text}o`).to.equal(id)
        expect(status, text).to.equal(known.has(id) ? 400 : 201)
        known.set(id, known.get(id) ?? text)
        found.push([text, known.get(id)])
      }
      expect(found).to.deep.equal(spellings)
    })
  })
}
