import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { createLog } from '../../../src/adapters/logging/log.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { spawnService } from '../../support/services/spawned-service.ts'

describe('a fault in the log', () => {
  function logged(err: unknown) {
    const lines: string[] = []
    createLog({ level: 'info' }, { write: (line) => void lines.push(line) }).error({ err }, 'it failed')
    return JSON.parse(lines[0] ?? '').err
  }

  it('includes its stack frames and those of its causes', () => {
    const err = logged(new Error('outer', { cause: new TypeError('inner') }))
    expect(err).to.include({ type: 'Error', message: 'outer' })
    expect(err.stack[0]).to.match(/^at .*log\.full\.test\.ts/)
    expect(err.cause.stack[0]).to.match(/^at .*log\.full\.test\.ts/)
  })

  it('names the sources of the built service', async () => {
    const faulty = `import { ServerResponse } from 'node:http'
      ServerResponse.prototype.once = () => { throw new Error('planted') }`
    const preload = `data:text/javascript,${encodeURIComponent(faulty)}`
    const service = await spawnService({ NODE_OPTIONS: `--import ${preload}` })
    await fetch(service.url).catch(() => undefined)
    const line = await eventually('the fault', () => service.errors.find((one) => one.includes('planted')) ?? false)
    expect(JSON.parse(line).err.stack.join('\n')).to.match(/\/src\/adapters\/http\/server\/http-server\.ts:\d+:\d+/)
  })

  it('has no stack frames when a dependency is unavailable, which may happen thousands of times a second', () => {
    const cause = Object.assign(new Error('refused by 10.0.0.1'), { code: 'ECONNREFUSED' })
    const err = logged(new Unavailable('the store', { cause }))
    expect(err).to.deep.equal({
      type: 'Unavailable',
      message: 'the store',
      cause: { type: 'Error', message: 'refused by 10.0.0.1', code: 'ECONNREFUSED' },
    })
  })
})

describe('a program that logs', () => {
  const log = JSON.stringify(new URL('../../../src/adapters/logging/log.ts', import.meta.url).href)
  // Node removes the types itself.
  const programOf = (script: string): string[] => [
    '--input-type=module',
    '--eval',
    `const { createLog } = await import(${log}); const log = createLog({ level: 'info' }); ${script}`,
  ]

  it('goes on while nobody reads its log, and drops lines beyond 16 MiB', async () => {
    const child = spawn(
      process.execPath,
      programOf(`
        for (let line = 0; line < 400; line++) log.info({ text: 'x'.repeat(100_000) }, 'a line')
        console.log(process.stderr.writableLength)`),
    )
    try {
      const [printed] = await once(child.stdout, 'data')
      expect(Number(printed)).to.be.within(15_000_000, 17_000_000)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('goes on when the reader of its log has gone', async () => {
    const child = spawn(
      process.execPath,
      programOf(`
        await new Promise((resolve) => process.stdin.once('data', resolve))
        for (let line = 0; line < 5; line++) {
          log.info('a line')
          await new Promise((resolve) => setImmediate(resolve))
        }
        console.log('done')
        process.exit(0)`),
    )
    const printed: string[] = []
    child.stderr.destroy()
    child.stdin.write('go on')
    child.stdout.on('data', (text) => printed.push(`${text}`))
    expect(await once(child, 'close')).to.deep.equal([0, null])
    expect(printed.join('')).to.equal('done\n')
  })

  for (const end of ['', 'process.exit(0)']) {
    it(`has written every line, in order, when it ends by ${end === '' ? 'having nothing to do' : end}`, async () => {
      const script = `for (let line = 0; line < 100; line++) log.info({ line }, 'a line'); ${end}`
      const { stderr } = await promisify(execFile)(process.execPath, programOf(script))
      const lines = stderr.split('\n').filter((line) => line.includes('a line'))
      expect(lines.map((line) => JSON.parse(line).line)).to.deep.equal(Array.from({ length: 100 }, (_, line) => line))
    })
  }
})
