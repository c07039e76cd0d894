import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { faultOf } from '../../support/fault-of.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { type Certificate, newCertificate } from '../../support/servers/certificate.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import {
  type PostgresServer,
  postgresObstacle,
  serverUser,
  startPostgres,
} from '../../support/servers/postgres-server.ts'
import { goodSecret } from '../../support/services/settings.ts'
import { scratchFolder } from '../../support/services/spawned-service.ts'
import { recovers } from '../../support/stores/outages.ts'

describe('TLS to PostgreSQL', () => {
  let server: PostgresServer
  let own: Certificate
  let url: string

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    // The certificate names 127.0.0.1, and not the second address.
    server = await startPostgres(['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1,127.0.0.2'])
    own = newCertificate()
    const user = serverUser()
    for (const [name, text] of Object.entries({ 'server.key': own.key, 'server.crt': own.cert })) {
      const file = join(server.folder, name)
      writeFileSync(file, text)
      chmodSync(file, 0o600)
      if (user !== undefined) chownSync(file, user.uid, user.gid)
    }
    await server.query('ALTER SYSTEM SET ssl = on')
    await server.query('SELECT pg_reload_conf()')
    url = await server.newDatabase()
  })

  after(() => server?.destroy())

  const withOptions = (options: string, host = '127.0.0.1') => `${url.replace('127.0.0.1', host)}?${options}`
  const caFile = () => `sslrootcert=${encodeURIComponent(own.certFile)}`

  /** `null` if the store can be prepared, otherwise the message of `Unsuitable`. */
  async function refusalOf(address: string): Promise<string | null> {
    const handle = await postgresBackend.open({ url: address, clock: () => new Date(), warn() {} })
    const fault = await faultOf(recovers(() => handle.prepare()))
    await handle.close()
    if (fault === null) return null
    expect(fault).to.be.instanceOf(Unsuitable)
    return String(fault)
  }

  it('accepts any certificate by sslmode=require, and those of the file of a CA by every mode', async () => {
    for (const options of ['sslmode=require', ...['require', 'verify-ca', 'verify-full'].map(withCa)]) {
      expect(await refusalOf(withOptions(options)), options).to.equal(null)
    }
  })

  const withCa = (mode: string) => `sslmode=${mode}&${caFile()}`

  it('compares the host by verify-full alone, and has a sentence of its own for another host', async () => {
    expect(await refusalOf(withOptions(withCa('verify-ca'), '127.0.0.2'))).to.equal(null)
    const message = await refusalOf(withOptions(withCa('verify-full'), '127.0.0.2'))
    expect(message).to.match(/the certificate of the server names another host: .* in url, .*sslmode=verify-ca/)
    expect(message).to.include('127.0.0.2')
  })

  it('has a sentence of its own for a self-signed certificate without its file, and for that of another CA', async () => {
    for (const mode of ['verify-ca', 'verify-full']) {
      expect(await refusalOf(withOptions(`sslmode=${mode}`))).to.match(
        /the server has a self-signed certificate: .*sslrootcert/,
      )
      const other = encodeURIComponent(newCertificate().certFile)
      expect(await refusalOf(withOptions(`sslmode=${mode}&sslrootcert=${other}`))).to.include('sslrootcert')
    }
  })

  it('names a file of a CA that cannot be read', async () => {
    const missing = join(scratchFolder(), 'none.pem')
    const opened = postgresBackend.open({
      url: withOptions(`sslmode=verify-full&sslrootcert=${missing}`),
      clock: () => new Date(),
      warn() {},
    })
    const fault = await faultOf(opened)
    expect(fault).to.be.instanceOf(Unsuitable)
    expect(String(fault)).to.include(missing)
  })

  it('stops the start with exit code 2 if the certificate fails', async () => {
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: withOptions('sslmode=verify-full'),
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_HTTP__PORT: '0',
    }
    const { code, err } = await portcullis(['serve'], { cwd: scratchFolder(), env })
    expect(code).to.equal(2)
    expect(err).to.match(/^portcullis: stores\.users, .*: PostgreSQL: the server has a self-signed certificate/m)
  })
})
