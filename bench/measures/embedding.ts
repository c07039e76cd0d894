import { join } from 'node:path'
import type { Measure } from '../measure.ts'
import { root, run, scratchFolder } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const starts = 9
const goalMilliseconds = 400

const ways = [
  { by: 'new', what: 'two use cases by `new` on SQLite, from the first import until ready' },
  { by: 'settings', what: 'the same by openPortcullis' },
]

/** The time from the first import of an embedding program until two use cases on SQLite are ready, in new processes. */
export const embedding: Measure = {
  name: 'embedding',
  async run({ rounds }, say) {
    for (const { by, what } of ways) {
      const env = { EMBEDDING_BY: by, EMBEDDING_FOLDER: scratchFolder() }
      const took: number[] = []
      for (let round = 0; round <= Math.min(starts, rounds); round++) {
        const program = run(process.execPath, [join(root, 'bench', 'embedding.mjs')], { env })
        const milliseconds = Number(await program.next(/^ready (.+)$/))
        await program.end()
        if (round > 0) took.push(milliseconds) // the first round creates the file
      }
      const { median, min, max } = spreadOf(took)
      say({
        what,
        value: `${median.toFixed(0)} ms (${min.toFixed(0)}–${max.toFixed(0)})`,
        goal: { text: `≤ ${goalMilliseconds} ms`, isMet: median <= goalMilliseconds },
      })
    }
  },
}
