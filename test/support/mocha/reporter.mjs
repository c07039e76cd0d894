import { relative } from 'node:path'
import mocha from 'mocha'

const { EVENT_HOOK_END, EVENT_TEST_END } = mocha.Runner.constants
const mostFiles = 25

/**
 * Mocha's spec reporter, with the seconds of the slowest files. Its last line counts what ran, in one form that scripts can
 * read.
 */
export default class Reporter extends mocha.reporters.Spec {
  #milliseconds = new Map()

  constructor(runner, options) {
    super(runner, options)
    const add = ({ file, duration = 0 }) => {
      if (file) this.#milliseconds.set(file, (this.#milliseconds.get(file) ?? 0) + duration)
    }
    runner.on(EVENT_TEST_END, add)
    runner.on(EVENT_HOOK_END, add)
  }

  epilogue() {
    super.epilogue()
    const slowest = [...this.#milliseconds].sort(([, one], [, other]) => other - one)
    if (slowest.length > 1) {
      const all = slowest.reduce((sum, [, milliseconds]) => sum + milliseconds, 0)
      console.log(`Seconds by file, of ${inSeconds(all)} in all:`)
      for (const [file, milliseconds] of slowest.slice(0, mostFiles)) {
        console.log(`${inSeconds(milliseconds).padStart(7)}  ${relative('', file)}`)
      }
    }
    const { passes, failures, pending } = this.stats
    process.stdout.write(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}\n`)
  }
}

const inSeconds = (milliseconds) => (milliseconds / 1000).toFixed(1)
