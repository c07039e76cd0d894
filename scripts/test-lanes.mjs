// Runs test files in several processes at a time. What a file prints is shown when it is done, so that the output
// reads as if they had run one after another; failures are repeated at the end, and the last line counts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { scratchSpace } from './scratch-space.mjs'

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP']
/** How long a process may take to start, or to end, on a machine that is busy. */
const startSeconds = 60
/** Of whoever is not about to wait for something: what was waited for is done first, and seldom takes long. */
const niceness = Math.min(getPriority() + 5, 19)
const program = fileURLToPath(new URL('test-lane.mjs', import.meta.url))

/**
 * Runs first the groups of `alone`, one after another: the files of a group at the same time, with nothing else beside
 * them. Then runs the files of `together`, `lanes` at a time, and beside them those of `waiting`, one at a time, in a
 * lane that helps the others once it is through. A file also fails that ends its process, takes longer than
 * `limitSeconds`, or holds no test.
 *
 * @param {{
 *   alone: readonly (readonly string[])[], together: readonly string[], waiting: readonly string[], lanes: number,
 *   limitSeconds: number, cwd: string, execArgv: readonly string[], timeout: number, color: boolean,
 *   print(text: string): void
 * }} what `timeout` is mocha's for one test, in milliseconds; `execArgv` are options of Node
 * @returns {Promise<boolean>} whether everything passed
 */
export async function runTests({ alone, together, waiting, lanes, print, ...how }) {
  const began = performance.now()
  const scratch = scratchSpace()
  const results = []
  const started = []
  const stop = (signal) => {
    for (const lane of started) lane.kill()
    scratch.remove()
    process.kill(process.pid, signal)
  }
  for (const signal of ends) process.once(signal, stop)

  function start() {
    const lane = startLane(join(scratch.path, `${started.length}`), how)
    started.push(lane)
    return lane
  }

  /** Answers the lane for further files. */
  async function work(files, given, { isWaiting = false } = {}) {
    let lane = given
    for (let file = files.shift(); file !== undefined; file = files.shift()) {
      if (lane?.isOver() !== false) lane = start()
      if (!isWaiting && waiting.length > 0) lane.giveWay()
      const result = await lane.run(file)
      print(`\n${file} (${result.seconds.toFixed(1)} s)\n${result.output}${result.crash}`)
      results.push(result)
    }
    return lane
  }

  let idle = []
  for (const group of alone) {
    const used = await Promise.all(group.map((file, at) => work([file], idle[at])))
    idle = [...used, ...idle.slice(group.length)]
  }
  const queue = [...together]
  const busy = Array.from({ length: lanes }, (_, at) => work(queue, idle[at]))
  if (waiting.length > 0) busy.push(work([...waiting], null, { isWaiting: true }).then((lane) => work(queue, lane)))
  await Promise.all(busy)
  for (const lane of started) results.push(await lane.end())
  for (const { file, output } of results) if (file === null && output !== '') print(`\n${output}`)
  for (const signal of ends) process.removeListener(signal, stop)
  scratch.remove()

  const sum = (of) => results.reduce((total, result) => total + result[of], 0)
  const failed = results.filter(({ failures }) => failures > 0)
  if (failed.length > 0) print('\nFAILURES\n')
  for (const { file, text, crash } of failed) print(`${file ?? 'after the last file'}\n${text}${crash}\n`)
  const [passes, failures, pending] = [sum('passes'), sum('failures'), sum('pending')]
  const seconds = Math.round((performance.now() - began) / 1000)
  print(`\n${[...alone.flat(), ...together, ...waiting].length} files in ${seconds} s\n`)
  print(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}\n`)
  return failures === 0
}

function startLane(folder, { cwd, execArgv, timeout, color, limitSeconds }) {
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary, { recursive: true })
  const outputFile = join(folder, 'output')
  const descriptor = openSync(outputFile, 'a')
  // A group of its own, so that nothing that its tests have started outlives it.
  const child = spawn(process.execPath, [...execArgv, program], {
    cwd,
    env: { ...process.env, TMPDIR: temporary },
    detached: true,
    stdio: ['ignore', descriptor, descriptor, 'ipc'],
  })
  closeSync(descriptor)
  let ending = null
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(String(error)))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  }).then((how) => {
    ending = how
    return how
  })
  const ready = once(child, 'message')
  ready.catch(() => {})
  let shown = 0

  function output() {
    const all = readFileSync(outputFile)
    const rest = all.subarray(shown).toString()
    shown = all.length
    return rest
  }

  function kill() {
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {} // all of them have ended
  }

  /** Answers what `work` does, or why it never will. */
  async function within(seconds, work) {
    let timer
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, seconds * 1000, { crash: `it took longer than ${seconds} s, and was ended` })
    })
    const gone = ended.then((how) => ({ crash: `its process ended before it was done (${how})` }))
    const outcome = await Promise.race([work, gone, late])
    clearTimeout(timer)
    if (outcome.crash !== undefined) {
      kill()
      await ended
    }
    return outcome
  }

  async function answerTo(file) {
    const answered = once(child, 'message')
    child.send({ file, timeout, color }, () => {}) // what cannot be sent is not answered either
    const [result] = await answered
    const { passes, failures, pending } = result
    return passes + failures + pending > 0 ? result : { ...result, failures: 1, text: '  it holds no test\n' }
  }

  const none = { passes: 0, failures: 0, pending: 0, text: '', crash: '' }
  const failure = (printed, crash) => ({
    ...none,
    failures: 1,
    output: printed,
    text: printed.split('\n').slice(-30).join('\n'),
    crash: `  ${crash}\n`,
  })
  let hasFailed = false

  return {
    isOver: () => ending !== null,
    kill,

    /** To those that wait: for good, since only root may take it back. */
    giveWay() {
      try {
        setPriority(child.pid, niceness)
      } catch {} // it has ended
    },

    async run(file) {
      const began = performance.now()
      const start = await within(startSeconds, ready)
      const outcome = start.crash === undefined ? await within(limitSeconds, answerTo(file)) : start
      const seconds = (performance.now() - began) / 1000
      if (outcome.crash === undefined) return { ...none, ...outcome, file, seconds, output: output() }
      hasFailed = true
      return { ...failure(output(), outcome.crash), file, seconds }
    },

    /** Ends the process in order; answers what it had still to say. */
    async end() {
      if (hasFailed) return { ...none, file: null, output: '' }
      if (ending === null) child.disconnect()
      const over = ended.then((how) => ({ how }))
      const { crash, how } = await within(startSeconds, over)
      kill() // whatever its tests have left behind
      if (crash === undefined && how === 'exit code 0') return { ...none, file: null, output: output() }
      return { ...failure(output(), crash ?? `a process of tests ended by itself (${how})`), file: null }
    },
  }
}
