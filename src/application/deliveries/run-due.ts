import type { DueWork } from '../ports/due-work.ts'

/** Runs all due work once, including the work that becomes due meanwhile. Returns the number of tasks. */
export async function runDue(work: DueWork): Promise<number> {
  let total = 0
  for (;;) {
    const begun = await work.startDue()
    await work.idle()
    if (begun === 0) return total
    total += begun
  }
}
