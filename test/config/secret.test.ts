import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { resolveSecret } from '../../src/config/settings/master-secret.ts'
import type { Settings } from '../../src/config/settings/schema/schema.ts'
import { faultsOf, goodSecret, SettingsFolder } from '../support/settings.ts'

describe('the master secret', () => {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())

  const generate = { generate: true }
  const pathOf = ({ dataFolder }: Settings) => join(dataFolder, 'secret')

  it('is the one that is given', async () => {
    const { settings } = await folder.load({ secret: goodSecret })
    const found = await resolveSecret(settings, generate)
    expect(found).to.deep.equal({
      secret: goodSecret,
      origin: 'given',
      path: null,
      isOfAnEarlierStart: false,
      warnings: [],
    })
    expect(await readdir(folder.path)).not.to.include('data')
  })

  for (const kind of ['memory', 'sqlite']) {
    it(`is generated once, for its owner alone, with users in ${kind}`, async () => {
      const { settings } = await folder.load({ stores: { users: { kind } } })
      const first = await resolveSecret(settings, generate)
      const path = pathOf(settings)
      expect(first).to.include({ origin: 'generated', path })
      expect(first.secret).to.match(/^[\w-]{43}$/)
      expect((await stat(path)).mode & 0o777).to.equal(0o600)
      expect((await stat(settings.dataFolder)).mode & 0o077).to.equal(0)

      const second = await resolveSecret(settings, { generate: false })
      expect(second).to.deep.equal({
        secret: first.secret,
        origin: 'read',
        path,
        isOfAnEarlierStart: false,
        warnings: [],
      })
    })
  }

  it('is of an earlier start when it was there a minute before this process began', async () => {
    const { settings } = await folder.load()
    const path = pathOf(settings)
    expect((await resolveSecret(settings, generate)).isOfAnEarlierStart).to.equal(false)
    for (const [secondsBefore, expected] of [
      [50, false],
      [70, true],
    ] as const) {
      const written = performance.timeOrigin / 1000 - secondsBefore
      await utimes(path, written, written)
      expect((await resolveSecret(settings, generate)).isOfAnEarlierStart).to.equal(expected)
    }
  })

  it('is the same for all of 64 first starts at once, and one of them generated it', async () => {
    const { settings } = await folder.load()
    const all = await Promise.all(Array.from({ length: 64 }, () => resolveSecret(settings, generate)))
    expect(new Set(all.map(({ secret }) => secret)).size).to.equal(1)
    expect(all.filter(({ origin }) => origin === 'generated')).to.have.length(1)
    expect(await readdir(settings.dataFolder)).to.deep.equal(['secret'])
    expect(await readFile(pathOf(settings), 'utf8')).to.equal(`${all[0]?.secret}\n`)
  })

  it('is not generated where it was not asked for', async () => {
    const { settings } = await folder.load()
    const [fault] = await faultsOf(resolveSecret(settings, { generate: false }))
    expect(fault?.path).to.equal('secret')
    expect(await readdir(folder.path)).not.to.include('data')
  })

  it('must be given where users are kept on a server', async () => {
    const url = 'mongodb://127.0.0.1/accounts'
    const { settings } = await folder.load({ secret: goodSecret, stores: { users: { kind: 'mongo', url } } })
    const [fault] = await faultsOf(resolveSecret({ ...settings, secret: null }, generate))
    expect(fault?.path).to.equal('secret')
  })

  it('is refused when short or a sample, whether it was given or found', async () => {
    const { settings } = await folder.load()
    await mkdir(settings.dataFolder)
    for (const secret of ['x'.repeat(31), 'é'.repeat(15), 'a-string-secret-at-least-256-bits-long']) {
      await folder.write('data/secret', secret)
      for (const given of [secret, null]) {
        const faults = await faultsOf(resolveSecret({ ...settings, secret: given }, generate))
        expect(faults.map(({ path }) => path)).to.deep.equal(['secret'])
        expect(faults[0]?.message).not.to.contain(secret)
      }
    }
    const inBytes = 'é'.repeat(16)
    expect(await resolveSecret({ ...settings, secret: inBytes }, generate)).to.include({ secret: inBytes })
  })

  it('warns when others may read the file', async () => {
    const { settings } = await folder.load()
    const { secret } = await resolveSecret(settings, generate)
    await chmod(pathOf(settings), 0o640)
    const found = await resolveSecret(settings, generate)
    expect(found.secret).to.equal(secret)
    expect(found.warnings).to.deep.equal([`${pathOf(settings)} can be read by others: chmod 600 ${pathOf(settings)}`])
  })

  it('is not looked for in a pipe, which might never end', async () => {
    const { settings } = await folder.load()
    await mkdir(settings.dataFolder)
    execFileSync('mkfifo', [pathOf(settings)])
    const [fault] = await faultsOf(resolveSecret(settings, generate))
    expect(fault).to.include({ path: 'dataFolder', message: `${pathOf(settings)} is no regular file` })
  })

  it('is told to be there when it cannot be read', async () => {
    const { settings } = await folder.load()
    await resolveSecret(settings, generate)
    const path = pathOf(settings)
    await chmod(path, 0o000)
    await chmod(folder.path, 0o755)
    await chmod(settings.dataFolder, 0o755)
    const isRoot = process.geteuid?.() === 0 // who may read everything, and lays that down for this case
    if (isRoot) process.seteuid?.(65_534)
    try {
      const [fault] = await faultsOf(resolveSecret(settings, generate))
      expect(fault).to.include({ path: 'secret' })
      expect(fault?.message).to.match(/secret is there, and this process must not read it \(EACCES\)/)
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it('names the data folder when nothing can be kept there', async () => {
    const dataFolder = join(await folder.write('file', ''), 'data')
    const { settings } = await folder.load({ dataFolder })
    const faults = await faultsOf(resolveSecret(settings, generate))
    expect(faults.map(({ path }) => path)).to.deep.equal(['dataFolder'])
  })
})
