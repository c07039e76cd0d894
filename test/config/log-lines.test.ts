import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { logLines } from '../../src/config/log-lines.ts'
import { eventually } from '../support/eventually.ts'

describe('the lines of the log', () => {
  function recorded() {
    const writes: string[] = []
    const out = (sync: boolean) => ({
      write: (text: string) => writes.push(sync ? `at once ${text}` : text),
      flushSync: () => writes.push('flushed'),
    })
    return { writes, lines: logLines(out) }
  }

  it('go out at once after a silence, and those that come soon after it together and in order', async () => {
    const { writes, lines } = recorded()
    for (const line of ['1\n', '2\n', '3\n']) lines.write(line)
    expect(writes).to.deep.equal(['1\n'])
    await eventually('the lines', () => writes.length === 2)
    expect(writes).to.deep.equal(['1\n', '2\n3\n'])
    lines.write('4\n')
    await eventually('the lines', () => writes.length === 3)
    expect(writes).to.deep.equal(['1\n', '2\n3\n', '4\n'])
  })

  it('go out when they are told to, once', () => {
    const { writes, lines } = recorded()
    for (const line of ['1\n', '2\n']) lines.write(line)
    lines.flush()
    lines.flush()
    expect(writes).to.deep.equal(['1\n', '2\n'])
    lines.write('3\n')
    lines.flushSync()
    expect(writes).to.deep.equal(['1\n', '2\n', 'flushed', 'at once 3\n'])
  })

  const log = new URL('../../src/config/log.ts', import.meta.url).href
  for (const [end, code] of [
    ['process.exit(3)', 3],
    ['', 0],
    ['log.fatal("the last"); process.kill(process.pid, "SIGKILL")', null],
  ] as const) {
    it(`are all there when the process ends by ${end === '' ? 'having nothing to do' : end}`, async () => {
      const script = `import { createLog } from '${log}'
        const log = createLog({ level: 'info' })
        log.info({ line: 0 }, 'a line')
        await new Promise((resolve) => setTimeout(resolve, 20)) // this one is left to a thread
        for (let line = 1; line < 1000; line++) log.info({ line }, 'a line')
        ${end}`
      const args = ['--import', 'tsx', '--input-type=module', '--eval', script]
      const cwd = fileURLToPath(new URL('../..', import.meta.url))
      const ended = await promisify(execFile)(process.execPath, args, { cwd }).then(
        ({ stderr }) => ({ code: 0, stderr }),
        (error: { code: number | null; stderr: string }) => ({ code: error.code, stderr: error.stderr }),
      )
      const seen = ended.stderr.split('\n').filter((line) => line.includes('a line'))
      expect(seen.map((line) => JSON.parse(line).line)).to.deep.equal(Array.from({ length: 1000 }, (_, line) => line))
      expect(ended.code).to.equal(code)
    })
  }
})
