import { expect } from 'chai'
import { call, logIn, type Sent } from './support/client.ts'
import { needsDeployment, onMongo } from './support/deployments.ts'
import { enrol } from './support/enrol.ts'
import { startTestService, type TestService } from './support/service.ts'

const superuserAddress = 'superuser@example.com'

describe('operators of MongoDB in place of values', () => {
  let service: TestService
  let settings: Readonly<Record<string, string>>
  const operators = [{ $gt: '' }, { $ne: null }, { $regex: '.*' }, { $exists: true }, { $where: '1' }, [], [''], {}]
  const victim = 'victim@example.com'
  const password = 'the pass phrase of a victim'

  before(async function () {
    await needsDeployment(this, onMongo)
    settings = await onMongo.settings()
    service = await startTestService(settings)
    await call(service.url, 'POST', '/auth/register', { json: { email: victim, password } })
    await enrol(settings, service.dataFolder, [superuserAddress], { isSuperuser: true })
  })

  after(async () => {
    await service?.stop()
    if (settings !== undefined) await onMongo.remove(settings)
  })

  async function statuses(requests: readonly [string, string, Sent][]): Promise<Set<number>> {
    const answers = await Promise.all(requests.map(([method, path, sent]) => call(service.url, method, path, sent)))
    return new Set(answers.map(({ status }) => status))
  }

  it('are refused in every field of every JSON body', async () => {
    const bearer = await logIn(service.url, superuserAddress)
    const { id } = (await call(service.url, 'GET', '/users/me', { bearer })).body as { id: string } // safe: a User
    const bodies: readonly [string, string, Readonly<Record<string, string>>][] = [
      ['POST', '/auth/register', { email: 'new@example.com', password }],
      ['POST', '/auth/forgot-password', { email: victim }],
      ['POST', '/auth/reset-password', { token: 'x', password }],
      ['POST', '/auth/request-verify-token', { email: victim }],
      ['POST', '/auth/verify', { token: 'x' }],
      ['PATCH', '/users/me', { email: victim, password, current_password: password }],
      ['PATCH', `/users/${id}`, { email: victim, password }],
    ]
    const requests = bodies.flatMap(([method, path, body]) =>
      Object.keys(body).flatMap((field) =>
        operators.map((operator): [string, string, Sent] => [
          method,
          path,
          { json: { ...body, [field]: operator }, bearer },
        ]),
      ),
    )
    expect(requests.length).to.be.above(90)
    expect(await statuses(requests)).to.deep.equal(new Set([422]))
  })

  it('log nobody in, however a form spells them', async () => {
    const names = ['username[$ne]=x', 'username[$gt]=', 'username[$regex]=.*', `username=${victim}&username[$ne]=`]
    const secrets = ['password[$ne]=x', 'password[$gt]=', `password=${encodeURIComponent('{"$ne":null}')}`]
    const values = operators.map((operator) => new URLSearchParams({ username: JSON.stringify(operator), password }))
    const bodies = [...names.flatMap((name) => secrets.map((secret) => `${name}&${secret}`)), ...values.map(String)]
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const requests = bodies.flatMap((body): [string, string, Sent][] => [
      ['POST', '/auth/jwt/login', { body, headers }],
      ['POST', '/auth/cookie/login', { body, headers }],
    ])
    expect(await statuses(requests)).to.deep.equal(new Set([400, 422]))
  })

  it('find nobody in a path, a query or a credential', async () => {
    const bearer = await logIn(service.url, superuserAddress)
    const encoded = operators.map((operator) => encodeURIComponent(JSON.stringify(operator)))
    for (const method of ['GET', 'DELETE']) {
      const requests = encoded.map((text): [string, string, Sent] => [method, `/users/${text}`, { bearer }])
      expect(await statuses(requests)).to.deep.equal(new Set([404]))
    }
    const asking = encoded.flatMap((text): [string, string, Sent][] => [
      ['GET', `/users/me?id=${text}&id[$ne]=`, {}],
      ['GET', '/users/me', { bearer: text }],
      ['GET', '/users/me', { cookie: `__Host-session=${text}` }],
    ])
    expect(await statuses(asking)).to.deep.equal(new Set([401]))
  })
})
