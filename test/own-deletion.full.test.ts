import { expect } from 'chai'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register } from './support/http/client.ts'
import { type Acme, aPerson, startAcme } from './support/providers/acme.ts'
import { Browser, toLink } from './support/providers/oauth-browser.ts'
import { enrol } from './support/scenes/enrol.ts'
import { resetToken, verifyToken } from './support/scenes/one-time-tokens.ts'
import {
  type Deployment,
  needsDeployment,
  onMongo,
  onMongoAndRedis,
  onPostgres,
  onSqlite,
} from './support/services/deployments.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { inSqlite, writtenBy } from './support/stores/store-contents.ts'

type Env = Readonly<Record<string, string>>

/** As no other record has it. */
const name = 'lise.meitner.1878'
const email = `${name}@example.com`
/** The name in every place of a text in base64, and in hexadecimal. */
const writings = [
  name,
  ...[0, 1, 2].map((skip) =>
    Buffer.from(email)
      .subarray(skip, skip + 12)
      .toString('base64'),
  ),
  Buffer.from(name).toString('hex'),
]

for (const deployment of [onSqlite, onMongo, onMongoAndRedis, onPostgres]) {
  describe(`after the own deletion of an account, on ${deployment.name}`, () => {
    let acme: Acme
    let service: TestService
    let env: Env = {}
    before(async function () {
      await needsDeployment(this, deployment)
      env = await deployment.settings()
      acme = await startAcme()
      const on = { PORTCULLIS_USERS__SELF_DELETION: 'true', PORTCULLIS_MAIL__URL: 'mailbox:' }
      service = await startTestService({ ...env, ...on, ...acme.env() })
    })
    after(async () => {
      await service?.stop()
      await acme?.close()
      await deployment.remove(env)
    })

    it('no store holds a byte of the address', async () => {
      await enrolNeighbours('before')
      await register(service.url, email)
      await call(service.url, 'POST', '/auth/verify', { json: { token: await verifyToken(service, email) } })
      const bearer = await logIn(service.url, email)
      await logInByCookie(service.url, email)
      await new Browser(service.url).travel(acme, aPerson({ email }), toLink(bearer))
      const guess = { form: { username: email, password: 'a wrong guess' } }
      expect((await call(service.url, 'POST', '/auth/jwt/login', guess)).status).to.equal(400)
      await resetToken(service, email)
      await enrolNeighbours('after')
      expect(found(await everything(deployment, env, service)), 'the search').to.include(name)

      const json = { current_password: goodPassword, password: `${goodPassword}!` }
      expect((await call(service.url, 'PATCH', '/users/me', { bearer, json })).status).to.equal(200)
      expect((await call(service.url, 'DELETE', '/users/me', { bearer })).status).to.equal(204)
      await service.event(({ event }) => event === 'on_after_delete')
      let left: readonly string[] = []
      await eventually('every store to be clean', async () => {
        left = found(await everything(deployment, env, service))
        return left.length === 0
      }).catch(() => expect(left).to.deep.equal([]))
    })

    async function enrolNeighbours(when: string): Promise<void> {
      const addresses = Array.from({ length: 60 }, (_, at) => `neighbour-${at}-${when}@example.com`)
      await enrol(env, service.dataFolder, addresses)
    }
  })
}

/** The writings of the address that the text has. */
function found(text: string): string[] {
  const plain = text.toLowerCase()
  const isIn = (writing: string) => plain.includes(writing.toLowerCase())
  return writings.filter(isIn)
}

/** All bytes that the stores of a service hold, as text. */
async function everything({ name }: Deployment, env: Env, { dataFolder }: TestService): Promise<string> {
  if (name === onSqlite.name) inSqlite(dataFolder, (db) => db.pragma('wal_checkpoint(TRUNCATE)'))
  return await writtenBy(env, dataFolder)
}
