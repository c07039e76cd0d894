import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { postgresBackend } from '../../../src/adapters/stores/postgres/postgres.ts'
import { Unsuitable } from '../../../src/adapters/stores/store-backend.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { portcullis } from '../../support/process/command-line.ts'
import { type Certificate, expired, newCertificate } from '../../support/servers/certificate.ts'
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

/** The modes that verify the signature, beside a file of CAs. */
const verifying = ['require', 'verify-ca', 'verify-full']

describe('TLS to PostgreSQL', () => {
  let server: PostgresServer
  let own: Certificate
  let url: string

  before(async function () {
    skipIfMissing(this, postgresObstacle())
    // The certificate names 127.0.0.1, and not the second address.
    server = await startPostgres(['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1,127.0.0.2'])
    own = newCertificate()
    await server.query('ALTER SYSTEM SET ssl = on')
    await present(own)
    url = await server.newDatabase()
  })

  /** Lets the server present this certificate to later connections. */
  async function present({ key, cert }: Certificate): Promise<void> {
    const user = serverUser()
    for (const [name, text] of Object.entries({ 'server.key': key, 'server.crt': cert })) {
      const file = join(server.folder, name)
      writeFileSync(file, text)
      chmodSync(file, 0o600)
      if (user !== undefined) chownSync(file, user.uid, user.gid)
    }
    await server.query('SELECT pg_reload_conf()')
  }

  after(() => server?.destroy())

  const withOptions = (options: string, host = '127.0.0.1') => `${url.replace('127.0.0.1', host)}?${options}`
  const withCa = (mode: string, { certFile } = own) => `sslmode=${mode}&sslrootcert=${encodeURIComponent(certFile)}`

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
    for (const options of ['sslmode=require', ...verifying.map((mode) => withCa(mode))]) {
      expect(await refusalOf(withOptions(options)), options).to.equal(null)
    }
  })

  it('compares the host by verify-full alone, and has a sentence of its own for another host', async () => {
    expect(await refusalOf(withOptions(withCa('verify-ca'), '127.0.0.2'))).to.equal(null)
    const message = await refusalOf(withOptions(withCa('verify-full'), '127.0.0.2'))
    expect(message).to.match(/the certificate of the server names another host: .* in url, .*sslmode=verify-ca/)
    expect(message).to.include('127.0.0.2')
  })

  it('has a sentence of its own for a self-signed certificate without its file', async () => {
    for (const mode of ['verify-ca', 'verify-full']) {
      expect(await refusalOf(withOptions(`sslmode=${mode}`))).to.match(
        /the server has a self-signed certificate: .*sslrootcert/,
      )
    }
  })

  it('refuses the certificate of another CA than that of the file, by every mode', async () => {
    const other = newCertificate()
    for (const mode of verifying) {
      expect(await refusalOf(withOptions(withCa(mode, other))), mode).to.include('sslrootcert')
    }
  })

  it('names a file of a CA that cannot be read or has no certificate', async () => {
    const [missing, empty] = [join(scratchFolder(), 'none.pem'), join(scratchFolder(), 'empty.pem')]
    writeFileSync(empty, '')
    const reasons = {
      [missing]: /^sslrootcert .* cannot be read: ENOENT/,
      [empty]: /^sslrootcert .* has no certificate/,
    }
    for (const [file, reason] of Object.entries(reasons)) {
      const url = withOptions(`sslmode=verify-full&sslrootcert=${file}`)
      const fault = await faultOf(postgresBackend.open({ url, clock: () => new Date(), warn() {} }))
      expect(fault).to.be.instanceOf(Unsuitable)
      expect((fault as Unsuitable).message)
        .to.match(reason)
        .and.include(file)
    }
  })

  /** Starts the service, which the certificate of the server must stop with exit code 2. Returns what it prints. */
  async function stoppedStart(address: string): Promise<string> {
    const env = {
      PORTCULLIS_STORES__USERS__KIND: 'postgres',
      PORTCULLIS_STORES__USERS__URL: address,
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_HTTP__PORT: '0',
    }
    const { code, err } = await portcullis(['serve'], { cwd: scratchFolder(), env })
    expect(code, err).to.equal(2)
    return err
  }

  it('stops the start with exit code 2 if the certificate fails', async () => {
    expect(await stoppedStart(withOptions('sslmode=verify-full'))).to.match(
      /^portcullis: stores\.users, .*: PostgreSQL: the server has a self-signed certificate/m,
    )
  })

  it('stops the start with exit code 2 and a sentence of its own if the certificate has expired', async () => {
    const old = expired(own)
    await present(old)
    const address = withOptions(withCa('verify-full', old))
    await eventually('the expired certificate', async () => (await refusalOf(address))?.includes('expired'))
    expect(await stoppedStart(address)).to.match(
      /^portcullis: stores\.users, .*: PostgreSQL: the certificate of the server has expired: renew it/m,
    )
  })
})
