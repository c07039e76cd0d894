import type { DueWork } from '../ports/due-work.ts'

/** Does everything that is due, and what becomes due by it; answers how many pieces. For a run without a loop. */
export async function runDue(work: DueWork): Promise<number> {
  let total = 0
  for (;;) {
    const begun = await work.startDue()
    await work.idle()
    if (begun === 0) return total
    total += begun
  }
}
