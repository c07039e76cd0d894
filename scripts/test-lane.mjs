// One of the processes in which scripts/test-lanes.mjs runs the tests: runs each file that it is sent the name of, by
// a mocha of its own, and answers what came of it. Servers that a file has started are there for the next one.
import { format } from 'node:util'
import mocha from 'mocha'
import '../test/support/unhandled-rejections.mjs'

const { Base, Spec } = mocha.reporters
process.once('disconnect', () => process.exit(0))

process.on('message', ({ file, timeout, color }) => {
  run(file, timeout, color).then(
    (result) => process.send(result),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.send('ready')

/** Rejects when the file cannot be loaded. */
async function run(file, timeout, color) {
  let result
  class Reporter extends Spec {
    epilogue() {
      super.epilogue()
      const { passes, failures, pending } = this.stats
      result = { passes, failures, pending, text: failures > 0 ? listing(this.failures) : '' }
    }
  }
  const one = new mocha.Mocha({ timeout, color, reporter: Reporter })
  one.addFile(file)
  await one.loadFilesAsync()
  await new Promise((resolve) => one.run(resolve))
  one.dispose() // or its listeners for what nobody caught would stay
  return result
}

/** What mocha prints of failures. */
function listing(failures) {
  const print = Base.consoleLog
  let text = ''
  Base.consoleLog = (...words) => {
    text += `${format(...words)}\n`
  }
  try {
    Base.list(failures)
  } finally {
    Base.consoleLog = print
  }
  return text
}
