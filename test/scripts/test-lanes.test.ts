import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { runTests, type TestRun } from '../../scripts/test-lanes.mjs'
import { scratchFolder } from '../support/spawned-service.ts'

const passes = "it('passes', () => {})"

const notes =
  "import { appendFileSync, readFileSync } from 'node:fs'; const note = (text) => appendFileSync('notes', text)"
const takes = (name: string) => `${notes}
  it('takes a while', async () => { note('+${name}'); await new Promise(setImmediate); note('-${name} ') })`

/** Runs these files, given by their names and contents; answers what was printed, and the exit. */
async function run(files: Readonly<Record<string, string>>, how: Partial<TestRun> = {}) {
  const cwd = scratchFolder()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
  let printed = ''
  const print = (text: string): void => {
    printed += text
  }
  const settings = {
    alone: [],
    waiting: [],
    lanes: 2,
    limitSeconds: 10,
    cwd,
    execArgv: [],
    timeout: 2000,
    color: false,
    print,
  }
  const passed = await runTests({ ...settings, together: Object.keys(files), ...how })
  const lines = printed.trimEnd().split('\n')
  const [before = '', after = ''] = printed.split('\nFAILURES\n')
  return { passed, cwd, lastLine: lines.at(-1), before, after }
}

describe('the tests, in several processes', function () {
  this.timeout(15_000)

  it('are counted over all files, and shown one file after another', async () => {
    const talks = "it('talks', async () => { for (let at = 0; at < 9; at++) { console.log('NAME', at); await null } })"
    const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.mjs`, talks.replace('NAME', name)]))
    const { passed, lastLine, before, after } = await run({
      ...files,
      'd.mjs': `${passes}; it.skip('later', () => {})`,
    })
    expect(passed).to.equal(true)
    expect(lastLine).to.equal('4 passed, 0 failed, 1 skipped')
    expect(after).to.equal('')
    const spoken = before.split('\n').filter((line) => /^[abc] \d$/.test(line))
    expect(spoken).to.have.length(27)
    expect(spoken.map(([name]) => name).join('')).to.match(/^([abc])\1{8}([abc])\2{8}([abc])\3{8}$/)
  })

  it('repeat their failures at the end, with what was expected', async () => {
    const fails = `import assert from 'node:assert'; it('adds', () => assert.deepEqual({ sum: 1 + 1 }, { sum: 3 }))`
    const { passed, lastLine, after } = await run({ 'fails.mjs': fails, 'passes.mjs': passes })
    expect(passed).to.equal(false)
    expect(lastLine).to.equal('1 passed, 1 failed')
    expect(after)
      .to.include('fails.mjs')
      .and.to.match(/-\s+"?sum"?: 2/)
      .and.to.match(/at .*fails\.mjs:1/)
  })

  it('fail with a file that ends its process, leaves a rejection or holds no test, and go on with the others', async () => {
    const files = {
      'crashes.mjs': "it('ends', () => process.abort())",
      'exits.mjs': "it('ends', () => process.exit(0))",
      'cannot-load.mjs': "throw new Error('not today')",
      'is-empty.mjs': '',
      'rejects.mjs': "it('ends', () => { void Promise.reject(new Error('ignored')); return new Promise(() => {}) })",
    }
    const { passed, lastLine, after } = await run({ ...files, 'passes.mjs': passes, 'too.mjs': passes })
    expect(passed).to.equal(false)
    expect(lastLine).to.equal('2 passed, 5 failed')
    const said = (file: string): string => after.split(`${file}\n`)[1]?.split(/^[a-z-]+\.mjs$/m)[0] ?? ''
    expect(said('crashes.mjs')).to.include('its process ended before it was done (SIGABRT)')
    expect(said('exits.mjs')).to.include('its process ended before it was done (exit code 0)')
    expect(said('cannot-load.mjs')).to.include('not today')
    expect(said('is-empty.mjs')).to.include('it holds no test')
    expect(said('rejects.mjs')).to.include('ignored')
  })

  it('end a file that takes too long, with all that it has started', async () => {
    const hangs = `import { spawn } from 'node:child_process'; import { writeFileSync } from 'node:fs'
      it('hangs', () => { writeFileSync('pid', String(spawn('sleep', ['60']).pid)); for (;;); })`
    const { lastLine, after, cwd } = await run({ 'hangs.mjs': hangs, 'passes.mjs': passes }, { limitSeconds: 1 })
    expect(lastLine).to.equal('1 passed, 1 failed')
    expect(after).to.include('hangs.mjs').and.to.include('it took longer than 1 s')
    const pid = Number(readFileSync(join(cwd, 'pid')))
    const isThere = (): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    for (let waited = 0; isThere() && waited < 2000; waited += 20) await delay(20)
    expect(isThere()).to.equal(false)
  })

  it('run alone what is to be run alone, group by group before the others, and those at the same time', async () => {
    const meets = (name: string, other: string) => `${notes}
      it('meets', async () => {
        note('${name}')
        while (!/${name}${other}|${other}${name}/.test(readFileSync('notes', 'utf8'))) await new Promise(setImmediate)
      })`
    const files = {
      'a.mjs': takes('a'),
      'b.mjs': takes('b'),
      'c.mjs': meets('c', 'd'),
      'd.mjs': meets('d', 'c'),
      'e.mjs': meets('e', 'f'),
      'f.mjs': meets('f', 'e'),
    }
    const how = { alone: [['a.mjs'], ['c.mjs', 'd.mjs'], ['b.mjs']], together: ['e.mjs', 'f.mjs'] }
    const { lastLine, cwd } = await run(files, how)
    expect(lastLine).to.equal('6 passed, 0 failed')
    expect(readFileSync(join(cwd, 'notes'), 'utf8')).to.match(/^\+a-a (cd|dc)\+b-b (ef|fe)$/)
  })

  it('run beside the others, one at a time, what mostly waits, and the others in its place afterwards', async () => {
    const takesLong = (name: string) => `${notes}
      it('takes long', async () => {
        note('+${name}')
        await new Promise((resolve) => setTimeout(resolve, 200))
        note('-${name} ')
      })`
    const files = {
      'a.mjs': `${notes}
        it('is there to the end', async () => {
          note('+a ')
          while (!readFileSync('notes', 'utf8').includes('-d')) await new Promise(setImmediate)
        })`,
      'b.mjs': takesLong('b'),
      'c.mjs': takesLong('c'),
      'd.mjs': takes('d'),
    }
    const how = { lanes: 1, together: ['a.mjs', 'd.mjs'], waiting: ['b.mjs', 'c.mjs'] }
    const { lastLine, cwd } = await run(files, how)
    expect(lastLine).to.equal('4 passed, 0 failed')
    expect(readFileSync(join(cwd, 'notes'), 'utf8').replace('+a ', '')).to.equal('+b-b +c-c +d-d ')
  })

  it('give way to what waits', async () => {
    const tells = (name: string) => `import { writeFileSync } from 'node:fs'
      import { getPriority } from 'node:os'
      it('tells', () => writeFileSync('${name}', String(getPriority())))`
    const files = { 'heavy.mjs': tells('heavy'), 'waits.mjs': tells('waits') }
    const { cwd } = await run(files, { lanes: 1, together: ['heavy.mjs'], waiting: ['waits.mjs'] })
    const niceness = (name: string): number => Number(readFileSync(join(cwd, name), 'utf8'))
    expect(niceness('waits')).to.equal(getPriority())
    expect(niceness('heavy')).to.be.above(getPriority())
  })
})
