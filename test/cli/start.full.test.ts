import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { portcullis } from '../support/process/command-line.ts'
import { listen } from '../support/servers/ports.ts'
import { startTestService } from '../support/services/service.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const anyPort = { PORTCULLIS_HTTP__PORT: '0' }

/** The output for people, without the lines of the log. */
const words = (err: string): string => err.replace(/^\{.*\}\n/gm, '')

describe('portcullis serve', () => {
  it('listens, prints its address, and generates a secret', async () => {
    const folder = scratchFolder()
    const service = await spawnService({}, folder)
    expect(words(`${service.errors.join('\n')}\n`)).to.match(/^(Portcullis listens on http:\/\/localhost:\d+\n)?$/)
    expect((await fetch(`${service.url}/healthz`)).status).to.equal(200)
    expect((await stat(join(folder, 'data', 'secret'))).mode & 0o777).to.equal(0o600)
    expect(await service.end('SIGTERM')).to.equal(0)
  })

  it('ends with exit code 2 when the user store was started with another secret', async () => {
    const folder = scratchFolder()
    const first = await spawnService({ PORTCULLIS_SECRET: goodSecret }, folder)
    expect(await first.end('SIGTERM')).to.equal(0)
    const another = [...goodSecret].reverse().join('')
    const { code, out, err } = await portcullis(['serve'], {
      cwd: folder,
      env: { ...anyPort, PORTCULLIS_SECRET: another },
    })
    expect([code, out]).to.deep.equal([2, ''])
    expect(words(err)).to.match(
      /secret: .*not the one this user store was started with: .*docs\/stores\.md#replace-the-secret/,
    )
    expect(err).not.to.include(another).and.not.to.include(goodSecret)
  })

  it('generates no secret when a backup was restored without the secret', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'data', 'secret')
    const first = await spawnService({}, folder)
    expect(await first.end('SIGTERM')).to.equal(0)
    const kept = await readFile(path)
    await rm(path)
    for (let start = 0; start < 2; start++) {
      const { code, err } = await portcullis(['serve'], { cwd: folder, env: anyPort })
      expect(code).to.equal(2)
      expect(words(err)).to.match(
        /secret: is missing: .*secret does not exist, and this user store was started with a secret/,
      )
      expect(err).not.to.include('generated a secret')
      expect(existsSync(path)).to.equal(false)
    }
    await writeFile(path, kept)
    const again = await spawnService({}, folder)
    expect(await again.end('SIGTERM')).to.equal(0)
  })

  it('warns when the secret is older than the user store', async () => {
    const dataFolder = join(scratchFolder(), 'data')
    const said = /"level":40.*"msg":"the user store is new, but its secret is older: check stores.users and dataFolder"/
    const lines: boolean[] = []
    for (const isRemoved of [false, false, true]) {
      if (isRemoved) {
        await rm(join(dataFolder, 'portcullis.sqlite'))
        const before = Date.now() / 1000 - 3600
        await utimes(join(dataFolder, 'secret'), before, before)
      }
      const service = await startTestService({}, { dataFolder })
      lines.push(service.logLines.some((line) => said.test(line)))
      await service.stop()
    }
    expect(lines).to.deep.equal([false, false, true])
  })

  it('ends with exit code 1 when the port is in use, and says so', async () => {
    const other = createServer()
    const port = await listen(other)
    const { code, err } = await portcullis(['serve'], { env: { PORTCULLIS_HTTP__PORT: `${port}` } })
    other.close()
    expect(code).to.equal(1)
    expect(words(err))
      .to.match(new RegExp(`^portcullis: .*${port}.*\\n$`))
      .and.to.match(/http\.port.*in use/)
  })

  it('ends with exit code 1 when the address belongs to another machine, and names the setting', async () => {
    // RFC 5737: for documentation only.
    const elsewhere = { PORTCULLIS_HTTP__HOST: '192.0.2.1', PORTCULLIS_HTTP__PUBLIC_URL: 'https://accounts.example' }
    const { code, err } = await portcullis(['serve'], { env: { ...anyPort, ...elsewhere } })
    expect(code).to.equal(1)
    expect(words(err)).to.match(/^portcullis: http\.host: is no address of this machine \(.*192\.0\.2\.1.*\)\n$/)
  })

  it('ends with exit code 2 when the data folder cannot be created or written, and names it', async () => {
    const cwd = scratchFolder()
    await writeFile(join(cwd, 'file'), '')
    const behindFile = await portcullis(['serve'], { cwd, env: { ...anyPort, PORTCULLIS_DATA_FOLDER: './file/data' } })
    expect(behindFile.code).to.equal(2)
    expect(words(behindFile.err))
      .to.include(join(cwd, 'file', 'data'))
      .and.to.include('ENOTDIR')

    if (process.platform === 'linux') {
      // Where Node's recursive mkdir would try for ever.
      const nowhere = await portcullis(['serve'], {
        cwd,
        env: { ...anyPort, PORTCULLIS_DATA_FOLDER: '/proc/none/data' },
      })
      expect(nowhere.code).to.equal(2)
      expect(words(nowhere.err)).to.include('/proc/none/data').and.to.include('ENOENT')
    }

    await mkdir(join(cwd, 'closed'))
    await chmod(join(cwd, 'closed'), 0o500)
    if (process.getuid?.() === 0) return // root may write anywhere
    const closed = await portcullis(['serve'], { cwd, env: { ...anyPort, PORTCULLIS_DATA_FOLDER: './closed' } })
    expect(closed.code).to.equal(2)
    expect(words(closed.err)).to.include(join(cwd, 'closed')).and.to.include('EACCES')
  })

  it('ends with exit code 2 when the module of handlers is missing or broken', async () => {
    const cwd = scratchFolder()
    await writeFile(join(cwd, 'broken.mjs'), 'export function on_after_register( {')
    for (const [file, reason] of [
      ['missing.mjs', `there is no file ${join(cwd, 'missing.mjs')}`],
      ['broken.mjs', 'SyntaxError'],
    ] as const) {
      const env = { ...anyPort, PORTCULLIS_HANDLERS__MODULE: file }
      const { code, err } = await portcullis(['serve'], { cwd, env })
      expect(code).to.equal(2)
      expect(words(err)).to.include('handlers.module').and.to.include(reason)
    }
  })
})
