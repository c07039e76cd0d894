import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { build } from 'esbuild'
import { logLines } from '../../src/adapters/logging/log-lines.ts'
import { eventually } from '../support/eventually.ts'
import { scratchFolder } from '../support/spawned-service.ts'

/** Standard error that takes so many bytes at a time, or none for the reason of this code. */
function aReader() {
  const reader = { takes: Number.POSITIVE_INFINITY as number | string, writes: [] as string[] }
  const lines = logLines((bytes) => {
    if (typeof reader.takes === 'string') throw Object.assign(new Error('no'), { code: reader.takes })
    const taken = bytes.subarray(0, reader.takes)
    reader.writes.push(taken.toString())
    return taken.length
  })
  return { reader, lines, text: () => reader.writes.join('') }
}

describe('the lines of the log', () => {
  it('go out at once after a silence, and those that come soon after it together and in order', async () => {
    const { reader, lines } = aReader()
    for (const line of ['1\n', '2\n', '3\n']) lines.write(line)
    expect(reader.writes).to.deep.equal(['1\n'])
    await eventually('the lines', () => reader.writes.length === 2)
    expect(reader.writes).to.deep.equal(['1\n', '2\n3\n'])
    lines.write('4\n')
    await eventually('the lines', () => reader.writes.length === 3)
    expect(reader.writes).to.deep.equal(['1\n', '2\n3\n', '4\n'])
  })

  it('go out when they are told to, once', () => {
    const { reader, lines } = aReader()
    for (const line of ['1\n', '2\n']) lines.write(line)
    lines.flush()
    lines.flush()
    expect(reader.writes).to.deep.equal(['1\n', '2\n'])
    lines.write('3\n')
    lines.flushSync()
    expect(reader.writes).to.deep.equal(['1\n', '2\n', '3\n'])
  })

  it('wait for a reader who is slow, in order, and nobody waits for them', async () => {
    const { reader, lines, text } = aReader()
    reader.takes = 'EAGAIN'
    let isDone = false
    lines.write('one\n')
    lines.write('two\n')
    lines.flush(() => {
      isDone = true
    })
    reader.takes = 2
    await eventually('the lines', () => text().length >= 8)
    expect(text()).to.equal('one\ntwo\n')
    expect(isDone).to.equal(true)
  })

  it('are handed on as whole lines, as much at a time as a pipe takes at once', () => {
    const { reader, lines } = aReader()
    reader.takes = 'EAGAIN'
    const all = [100, 2_000, 5_000, 100, 4_000, 2_500, 100].map((length) => `${'x'.repeat(length - 1)}\n`)
    for (const line of all) lines.write(line)
    reader.takes = 1_000_000
    lines.flushSync()
    expect(reader.writes.map(({ length }) => length)).to.deep.equal([100, 2_000, 5_000, 100, 4_000, 2_600])
    expect(reader.writes.join('')).to.equal(all.join(''))
  })

  it('are handed on as fast as they are read, once somebody reads again', async () => {
    let room = 0
    let taken = 0
    const lines = logLines((bytes) => {
      if (room === 0) throw Object.assign(new Error('no'), { code: 'EAGAIN' })
      const some = Math.min(room, bytes.length)
      room = 0
      taken += some
      return some
    })
    const line = `${'x'.repeat(99)}\n`
    for (let one = 0; one < 100; one++) lines.write(line)
    const reading = setInterval(() => {
      room = 1_000 // as of a pipe that is read at once
    }, 1)
    await eventually('the lines', () => taken === 10_000, 0.6)
    clearInterval(reading)
  })

  it('are not waited for by a process at its end for more than half a second', () => {
    const { reader, lines } = aReader()
    reader.takes = 'EAGAIN'
    lines.write('one\n')
    const began = performance.now()
    lines.flushSync()
    expect(performance.now() - began).to.be.within(300, 1000)
    reader.takes = 100
    lines.flushSync()
    expect(reader.writes).to.deep.equal(['one\n'])
  })

  for (const fault of ['EIO', 'ENOSPC', 'EFBIG', 'EPIPE']) {
    it(`are lost after ${fault}, without a fault, and the next ones say how many`, () => {
      const { reader, lines, text } = aReader()
      reader.takes = 2
      lines.write('1\n')
      reader.takes = fault
      for (const line of ['2\n', '3\n']) lines.write(line)
      let isDone = false
      lines.flush(() => {
        isDone = true
      })
      expect(isDone).to.equal(true)
      lines.write('4\n')
      lines.flushSync()
      reader.takes = 1000
      lines.write('5\n')
      lines.flushSync()
      const [first, complaint = '', ...others] = text().split('\n')
      expect([first, ...others]).to.deep.equal(['1', '5', ''])
      expect(JSON.parse(complaint)).to.deep.include({ level: 40, lines: 3 })
    })
  }

  it('begin anew after one that was torn', () => {
    let room = 3
    const writes: string[] = []
    const lines = logLines((bytes) => {
      if (room === 0) throw Object.assign(new Error('no'), { code: 'ENOSPC' })
      const taken = bytes.subarray(0, room)
      room -= taken.length
      writes.push(taken.toString())
      return taken.length
    })
    lines.write('torn\n')
    room = 1000
    lines.write('whole\n')
    lines.flushSync()
    const [torn, complaint = '', whole] = writes.join('').split('\n')
    expect([torn, whole]).to.deep.equal(['tor', 'whole'])
    expect(JSON.parse(complaint)).to.deep.include({ lines: 1 })
  })

  it('are kept for who does not read up to 16 MiB, and counted beyond', () => {
    const { reader, lines, text } = aReader()
    reader.takes = 'EAGAIN'
    const megabyte = `${'x'.repeat(1024 * 1024 - 1)}\n`
    for (let line = 0; line < 20; line++) lines.write(megabyte)
    reader.takes = 1024 * 1024
    lines.flushSync()
    lines.write('last\n')
    lines.flushSync()
    const found = text().split('\n')
    const kept = found.filter((line) => line.startsWith('x')).length
    const complaint = found.find((line) => line.startsWith('{')) ?? '{}'
    expect(kept).to.be.within(16, 17)
    expect(JSON.parse(complaint)).to.deep.include({ lines: 20 - kept })
    expect(found.at(-2)).to.equal('last')
  })

  /** Built, since a compiler on the way may make standard error one that is waited for: it is its own as well. */
  const log = join(scratchFolder(), 'log.cjs')
  before(() =>
    build({
      entryPoints: [fileURLToPath(new URL('../../src/adapters/logging/log.ts', import.meta.url))],
      outfile: log,
      bundle: true,
      platform: 'node',
      format: 'cjs',
    }),
  )
  const programOf = (script: string): string[] => ['--input-type=module', '--eval', script]
  const busy = `const { pbkdf2 } = await import('node:crypto')
    for (let one = 0; one < 8; one++) pbkdf2('a', 'b', 300_000, 32, 'sha256', () => undefined)`
  it('keep nobody waiting who writes them, while nobody reads', async () => {
    const script = `import { createLog } from '${log}'
      const log = createLog({ level: 'info' })
      for (let line = 0; line < 30_000; line++) {
        log.info({ line }, 'a line')
        if (line % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await new Promise((resolve) => setTimeout(resolve, 200))
      console.log('done')`
    const child = spawn(process.execPath, programOf(script))
    try {
      const [printed] = await once(child.stdout, 'data')
      expect(String(printed)).to.equal('done\n')
    } finally {
      child.kill('SIGKILL')
    }
  })

  const line = 'log.info({ line: 999 }, "a line")'
  for (const [end, code] of [
    ['process.exit(3)', 3],
    ['', 0],
    ['log.fatal("the last"); process.kill(process.pid, "SIGKILL")', null],
    [`${busy}; process.exit(3)`, 3],
    [`process.on('exit', () => ${line}); process.exit(3)`, 3],
  ] as const) {
    it(`are all there, and in order, when the process ends by ${end === '' ? 'having nothing to do' : end}`, async () => {
      const isLater = end.includes(line)
      const script = `import { createLog } from '${log}'
        const log = createLog({ level: 'info' })
        for (let line = 0; line < ${isLater ? 999 : 1000}; line++) log.info({ line }, 'a line')
        ${end}`
      const ended = await promisify(execFile)(process.execPath, programOf(script)).then(
        ({ stderr }) => ({ code: 0, stderr }),
        (error: { code: number | null; stderr: string }) => ({ code: error.code, stderr: error.stderr }),
      )
      const seen = ended.stderr.split('\n').filter((line) => line.includes('a line'))
      expect(seen.map((line) => JSON.parse(line).line)).to.deep.equal(Array.from({ length: 1000 }, (_, line) => line))
      expect(ended.code).to.equal(code)
    })
  }
})
