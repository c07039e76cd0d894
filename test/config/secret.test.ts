import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { resolveSecret } from '../../src/config/settings/master-secret.ts'
import type { Settings } from '../../src/config/settings/schema/schema.ts'
import { faultsOf, goodSecret, settingsFolder } from '../support/settings.ts'

describe('the master secret', () => {
  const folder = settingsFolder()

  const pathOf = ({ dataFolder }: Settings) => join(dataFolder, 'secret')

  it('is the given one', async () => {
    const { settings } = await folder.load({ secret: goodSecret })
    const found = await resolveSecret(settings)
    expect(found).to.include({ secret: goodSecret, origin: 'given', path: null })
    expect(await readdir(folder.path)).not.to.include('data')
  })

  it('is generated once, for its owner alone, and read at the next start', async () => {
    const { settings } = await folder.load()
    const first = await resolveSecret(settings)
    const path = pathOf(settings)
    expect(first).to.include({ origin: 'generated', path })
    expect(first.secret).to.match(/^[\w-]{43}$/)
    expect((await stat(path)).mode & 0o777).to.equal(0o600)
    expect((await stat(settings.dataFolder)).mode & 0o077).to.equal(0)

    const second = await resolveSecret(settings)
    expect(second).to.include({ secret: first.secret, origin: 'read', path })
    expect(second.warnings).to.deep.equal([])
  })

  it('is of an earlier start if it is a minute older than this process', async () => {
    const { settings } = await folder.load()
    const path = pathOf(settings)
    expect((await resolveSecret(settings)).isOfAnEarlierStart).to.equal(false)
    for (const [secondsBefore, expected] of [
      [50, false],
      [70, true],
    ] as const) {
      const written = performance.timeOrigin / 1000 - secondsBefore
      await utimes(path, written, written)
      expect((await resolveSecret(settings)).isOfAnEarlierStart).to.equal(expected)
    }
  })

  it('is the same for 64 first starts at once, and one of them generates it', async () => {
    const { settings } = await folder.load()
    const all = await Promise.all(Array.from({ length: 64 }, () => resolveSecret(settings)))
    expect(new Set(all.map(({ secret }) => secret)).size).to.equal(1)
    expect(all.filter(({ origin }) => origin === 'generated')).to.have.length(1)
    expect(await readdir(settings.dataFolder)).to.deep.equal(['secret'])
    expect(await readFile(pathOf(settings), 'utf8')).to.equal(`${all[0]?.secret}\n`)
  })

  it('is refused when short or a sample', async () => {
    const { settings } = await folder.load()
    await mkdir(settings.dataFolder)
    for (const secret of ['x'.repeat(31), 'é'.repeat(15), 'a-string-secret-at-least-256-bits-long']) {
      await folder.write('data/secret', secret)
      const faults = await faultsOf(resolveSecret(settings))
      expect(faults.map(({ path }) => path)).to.deep.equal(['secret'])
      expect(faults[0]?.message).not.to.contain(secret)
    }
    const inBytes = 'é'.repeat(16)
    await folder.write('data/secret', inBytes)
    expect(await resolveSecret(settings)).to.include({ secret: inBytes })
  })

  it('warns when others may read the file', async () => {
    const { settings } = await folder.load()
    const { secret } = await resolveSecret(settings)
    await chmod(pathOf(settings), 0o640)
    const found = await resolveSecret(settings)
    expect(found.secret).to.equal(secret)
    expect(found.warnings).to.deep.equal([`${pathOf(settings)} can be read by others: chmod 600 ${pathOf(settings)}`])
  })

  it('is not read from a pipe, which could block the start for ever', async () => {
    const { settings } = await folder.load()
    await mkdir(settings.dataFolder)
    execFileSync('mkfifo', [pathOf(settings)])
    const [fault] = await faultsOf(resolveSecret(settings))
    expect(fault).to.include({ path: 'dataFolder', message: `${pathOf(settings)} is no regular file` })
  })

  it('is reported as there when it cannot be read', async () => {
    const { settings } = await folder.load()
    await resolveSecret(settings)
    const path = pathOf(settings)
    await chmod(path, 0o000)
    await chmod(folder.path, 0o755)
    await chmod(settings.dataFolder, 0o755)
    const isRoot = process.geteuid?.() === 0 // root may read everything, so it gives that up for this case
    if (isRoot) process.seteuid?.(65_534)
    try {
      const [fault] = await faultsOf(resolveSecret(settings))
      expect(fault).to.include({ path: 'secret' })
      expect(fault?.message).to.match(/secret exists, but this process may not read it \(EACCES\)/)
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it('names the data folder when nothing can be kept there', async () => {
    const dataFolder = join(await folder.write('file', ''), 'data')
    const { settings } = await folder.load({ dataFolder })
    const faults = await faultsOf(resolveSecret(settings))
    expect(faults.map(({ path }) => path)).to.deep.equal(['dataFolder'])
  })
})
