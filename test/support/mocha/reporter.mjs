import mocha from 'mocha'

/** Mocha's spec reporter; its last line counts what ran, in one form that scripts can read. */
export default class Reporter extends mocha.reporters.Spec {
  epilogue() {
    super.epilogue()
    const { passes, failures, pending } = this.stats
    process.stdout.write(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}\n`)
  }
}
