import { join } from 'node:path'
import sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { calculateJwkThumbprint, createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { call, logIn, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const memory = { PORTCULLIS_STORES__USERS__KIND: 'memory' }
const signsBy = (algorithm: string) => ({ PORTCULLIS_BACKENDS__JWT__STRATEGY__ALGORITHM: algorithm })
const hardened = { PORTCULLIS_SECURITY__PROFILE: 'hardened' }
const paths = {
  keys: '/.well-known/jwks.json',
  description: '/.well-known/oauth-authorization-server',
  openid: '/.well-known/openid-configuration',
}

describe('public keys', () => {
  const running: TestService[] = []
  async function start(...args: Parameters<typeof startTestService>): Promise<TestService> {
    const service = await startTestService(...args)
    running.push(service)
    return service
  }
  after(() => Promise.all(running.map((service) => service.stop())))

  const keysOf = async (url: string): Promise<JSONWebKeySet> => (await fetch(url + paths.keys)).json() as never // safe: jose checks it
  const algorithmOf = (token: string) => decodeProtectedHeader(token).alg
  const statusOf = async (url: string, bearer: string) => (await call(url, 'GET', '/users/me', { bearer })).status

  for (const algorithm of ['EdDSA', 'ES256', 'RS256']) {
    it(`verify tokens of ${algorithm} without a secret`, async () => {
      const { url } = await start({ ...memory, ...signsBy(algorithm), PORTCULLIS_KEYS__CACHE_SECONDS: '300' })
      const { id } = await register(url, 'ada@example.com')
      const token = await logIn(url, 'ada@example.com')
      const answer = await fetch(url + paths.keys)
      expect(answer.headers.get('Cache-Control')).to.equal('private, max-age=300')
      expect(answer.headers.get('Content-Type')).to.equal('application/json; charset=utf-8')
      const set: JSONWebKeySet = (await answer.json()) as never // safe: jose checks it
      for (const jwk of set.keys) {
        expect(jwk.kid).to.equal(await calculateJwkThumbprint(jwk))
        expect(jwk).not.to.have.any.keys('d', 'k', 'p', 'q')
      }
      const expected = { issuer: url, audience: 'portcullis:auth', typ: 'at+jwt', algorithms: [algorithm] }
      const { payload } = await jwtVerify(token, createLocalJWKSet(set), expected)
      expect(payload).to.deep.include({ sub: id, client_id: 'jwt', tenant: 'default', amr: ['pwd'], acr: '1' })
      expect(await statusOf(url, token)).to.equal(200)
      expect((await call(url, 'POST', '/auth/jwt/logout', { bearer: token })).status).to.equal(204)
      expect(await statusOf(url, token)).to.equal(401)
    })
  }

  it('are described for the issuer, and answer HEAD', async () => {
    const { url } = await start({ ...memory, ...signsBy('EdDSA') })
    for (const path of [paths.description, paths.openid]) {
      const answer = await fetch(url + path)
      expect(answer.headers.get('Cache-Control')).to.equal('private, max-age=600')
      expect(answer.headers.get('Access-Control-Allow-Origin'), 'scripts of any page may read it').to.equal('*')
      expect(await answer.json()).to.deep.include({ issuer: url, jwks_uri: url + paths.keys })
    }
    for (const path of Object.values(paths)) {
      const head = await fetch(url + path, { method: 'HEAD' })
      expect([head.status, await head.text()], path).to.deep.equal([200, ''])
      expect((await fetch(url + path, { method: 'POST' })).status).to.equal(405)
    }
  })

  it('are at both places of an issuer with a path, whether or not the proxy removes it', async () => {
    const issuer = 'http://localhost:4000/accounts'
    const { url } = await start({ ...memory, ...signsBy('EdDSA'), PORTCULLIS_HTTP__PUBLIC_URL: issuer })
    const expected = { issuer, jwks_uri: `${issuer}${paths.keys}` }
    for (const path of [paths.description, paths.openid]) {
      for (const place of [`${path}/accounts`, `/accounts${path}`, path])
        expect(await (await fetch(url + place)).json(), place).to.deep.include(expected)
      for (const place of [`${path}/account`, `${path}/accounts/x`, `/accounts${path}/accounts`])
        expect((await fetch(url + place)).status, place).to.equal(404)
    }
    expect((await keysOf(`${url}/accounts`)).keys).to.have.length(1)
  })

  it('are of the tenant whose path the issuer has, and another tenant refuses its tokens', async () => {
    const secret = 'a-secret-of-more-than-thirty-two-bytes'
    const files = { 'portcullis.config.json': { tenants: { by: 'path', list: { acme: {}, bolt: {} } } } }
    const env = { ...memory, ...signsBy('EdDSA'), PORTCULLIS_SECRET: secret }
    const service = await start(env, { files })
    const acme = service.urlOf('acme')
    const bolt = service.urlOf('bolt')
    const { origin, pathname } = new URL(acme)
    for (const place of [`${origin}${paths.description}${pathname}`, `${acme}${paths.description}`])
      expect(await (await fetch(place)).json(), place).to.deep.include({ issuer: acme, jwks_uri: acme + paths.keys })
    for (const url of [acme, bolt]) await register(url, 'ada@example.com')
    const token = await logIn(acme, 'ada@example.com')
    expect(await statusOf(acme, token)).to.equal(200)
    expect(await statusOf(bolt, token)).to.equal(401)
    const [ofAcme, ofBolt] = [await keysOf(acme), await keysOf(bolt)]
    await jwtVerify(token, createLocalJWKSet(ofAcme), { issuer: acme })
    expect(ofBolt.keys[0]?.kid).not.to.equal(ofAcme.keys[0]?.kid)
  })

  it('do not exist for HS256, which is the default', async () => {
    const { url } = await start(memory)
    await register(url, 'ada@example.com')
    const token = await logIn(url, 'ada@example.com')
    expect(decodeProtectedHeader(token)).to.deep.equal({ alg: 'HS256', typ: 'JWT' })
    for (const path of Object.values(paths)) {
      const answer = await fetch(url + path)
      expect([answer.status, await answer.json()], path).to.deep.equal([404, { detail: 'Not Found' }])
      expect(answer.headers.get('Cache-Control')).to.equal('no-store')
    }
  })

  it('outlive a restart, a change of the algorithm, and the way back to HS256', async () => {
    const dataFolder = join(scratchFolder(), 'data')
    const publicUrl = { PORTCULLIS_HTTP__PUBLIC_URL: 'http://localhost:4000' }
    const tokens: string[] = []
    for (const [at, algorithm] of ['HS256', 'EdDSA', 'EdDSA', 'RS256', 'HS256'].entries()) {
      const service = await startTestService({ ...publicUrl, ...signsBy(algorithm) }, { dataFolder })
      if (at === 0) await register(service.url, 'ada@example.com')
      tokens.push(await logIn(service.url, 'ada@example.com'))
      for (const token of tokens) expect(await statusOf(service.url, token), algorithm).to.equal(200)
      if (algorithm !== 'HS256' || at > 0) {
        const set = createLocalJWKSet(await keysOf(service.url))
        for (const token of tokens.filter((one) => algorithmOf(one) !== 'HS256')) await jwtVerify(token, set)
      }
      await service.stop()
    }
    // Until verifiers have the first key of RS256, the one of EdDSA signs.
    expect(tokens.map(algorithmOf)).to.deep.equal(['HS256', 'EdDSA', 'EdDSA', 'EdDSA', 'HS256'])
  })

  it('are the default of the profile hardened, except for data of an older release', async () => {
    const { url } = await start({ ...memory, ...hardened })
    await register(url, 'ada@example.com')
    expect(algorithmOf(await logIn(url, 'ada@example.com'))).to.equal('EdDSA')

    const dataFolder = join(scratchFolder(), 'data')
    const first = await startTestService({}, { dataFolder })
    await register(first.url, 'ada@example.com')
    await first.stop()
    const ofNewData = await start(hardened, { dataFolder })
    expect(algorithmOf(await logIn(ofNewData.url, 'ada@example.com'))).to.equal('EdDSA')
    await ofNewData.stop()
    const db = sqlite(join(dataFolder, 'portcullis.sqlite'))
    db.prepare(`DELETE FROM meta WHERE name = 'signing-keys'`).run() // an older release writes no such record
    db.close()
    const ofOldData = await start(hardened, { dataFolder })
    expect(algorithmOf(await logIn(ofOldData.url, 'ada@example.com'))).to.equal('HS256')
    await ofOldData.stop()
    const chosen = await start({ ...hardened, ...signsBy('EdDSA') }, { dataFolder })
    expect(algorithmOf(await logIn(chosen.url, 'ada@example.com'))).to.equal('EdDSA')
  })
})
