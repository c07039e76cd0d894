import { expect } from 'chai'
import { redisBackend } from '../../../src/adapters/stores/redis/redis.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { faultOf } from '../../support/fault-of.ts'
import { call, logInByCookie, register } from '../../support/http/client.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { certificate, newCertificate } from '../../support/servers/certificate.ts'
import { freePort } from '../../support/servers/ports.ts'
import { spawnService } from '../../support/services/spawned-service.ts'
import { needsRedisServer, type RedisServer, startRedis, startSentinel } from '../../support/stores/redis.ts'

const sessionsAt = (url: string): Record<string, string> => ({
  PORTCULLIS_HTTP__PORT: '0',
  PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
  PORTCULLIS_STORES__SESSIONS__URL: url,
})

/** The message of a store that refuses to be prepared. */
async function refusal(url: string): Promise<string> {
  const handle = await redisBackend.open({ url, clock: () => new Date(), warn() {} })
  const fault = await faultOf(handle.prepare())
  await handle.close()
  if (!(fault instanceof Unsuitable)) throw new Error('expected Unsuitable', { cause: fault })
  return fault.message
}

describe('a Redis that can never be used', () => {
  const servers: RedisServer[] = []

  before(function () {
    needsRedisServer(this)
  })

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close()
  })

  async function started(...settings: readonly string[]): Promise<RedisServer> {
    const server = await startRedis(settings)
    servers.push(server)
    return server
  }

  /** The port of TLS of a new server. */
  async function withTls(clientCertificates: 'no' | 'yes'): Promise<number> {
    const { keyFile, certFile } = certificate()
    const port = await freePort()
    const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile]
    await started('--tls-port', `${port}`, '--tls-auth-clients', clientCertificates, ...files)
    return port
  }

  it('is a Sentinel', async () => {
    const sentinel = await startSentinel()
    servers.push(sentinel)
    expect(await refusal(sentinel.url)).to.include('is a Sentinel')
    expect(await refusal(`${sentinel.url}/1`))
      .to.include('the command SELECT')
      .and.to.include('Sentinel')
    const { code, err } = await portcullis(['serve'], { env: sessionsAt(sentinel.url) })
    expect(code).to.equal(2)
    expect(err).to.match(/^portcullis: stores\.sessions: redis: the address is a Sentinel/m)
  })

  for (const command of ['EVAL', 'GETDEL', 'ZREMRANGEBYSCORE', 'INFO']) {
    it(`lacks ${command}`, async () => {
      const { url } = await started('--rename-command', command, 'another-name')
      const message = await refusal(url)
      expect(message).to.include(`lacks the command ${command}.`).and.to.include('rename-command')
      expect(message.length, 'without the script').to.be.below(200)
    })
  }

  it('has a certificate of an unknown CA, and is reached once the service knows the CA', async () => {
    const url = `rediss://localhost:${await withTls('no')}`
    expect(await refusal(url))
      .to.include('DEPTH_ZERO_SELF_SIGNED_CERT')
      .and.to.include('NODE_EXTRA_CA_CERTS')
    const env = { ...sessionsAt(url), NODE_EXTRA_CA_CERTS: newCertificate().certFile }
    const { code, err } = await portcullis(['serve'], { env })
    expect(code).to.equal(2)
    expect(err).to.match(/^portcullis: stores\.sessions: redis: the certificate of the server is not trusted/m)

    const service = await spawnService({ ...env, NODE_EXTRA_CA_CERTS: certificate().certFile })
    await register(service.url, 'ada@example.com')
    const cookie = await logInByCookie(service.url, 'ada@example.com')
    expect((await call(service.url, 'GET', '/users/me', { cookie })).status).to.equal(200)
    await service.end('SIGTERM')
  })

  it('demands a certificate of its clients', async () => {
    const env = {
      ...sessionsAt(`rediss://localhost:${await withTls('yes')}`),
      NODE_EXTRA_CA_CERTS: certificate().certFile,
    }
    const { code, err } = await portcullis(['serve'], { env })
    expect(code).to.equal(2)
    expect(err).to.match(/^portcullis: stores\.sessions: redis: the server demands a certificate .* tls-auth-clients/m)
  })
})
