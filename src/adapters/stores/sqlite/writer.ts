import { setImmediate as nextTurn } from 'node:timers/promises'
import { Unavailable } from '../../../domain/refusal.ts'
import { inTime } from '../../../lib/in-time.ts'
import { Unsuitable } from '../store-backend.ts'
import {
  type Fault,
  type FoundPlace,
  monotonicMs,
  type Outcome,
  type Step,
  type Writes,
  writeMethods,
} from './protocol.ts'
import { closeMs, type WriterThread } from './writer-thread.ts'

const maxBatch = 200
/** Less than the 2 s within which every caller gets an answer. */
const answerMs = 1_950
/** Starting the thread, loading the driver and creating the tables may take longer than a write. */
const openMs = 10_000

interface Pending {
  readonly step: Step
  settle(outcome: Outcome): void
}

/**
 * The writes to one file. Calls that arrive during a batch go into the next one, so that a slow disk causes larger
 * batches instead of a longer queue. A call without an answer within 2 s rejects with `Unavailable`. Its step does not begin
 * any more, but a step that had begun may still be written.
 */
export function sqliteWriter(thread: WriterThread, clock: () => Date, isOpen: () => boolean) {
  const file = thread.newFile()
  const waiting = new Set<Pending>()
  let place: FoundPlace | null = null
  let sending: Promise<void> | null = null
  let isClosed = false

  async function sendAll(): Promise<void> {
    await nextTurn() // all requests of this turn of the event loop share a batch
    while (place !== null && waiting.size > 0) {
      const batch = [...waiting].slice(0, maxBatch)
      for (const pending of batch) waiting.delete(pending)
      const answer = await thread.write({ file, place, steps: batch.map(({ step }) => step) })
      for (const [at, pending] of batch.entries()) {
        pending.settle('kind' in answer ? { fault: answer } : (answer[at] ?? late))
      }
    }
    sending = null
  }

  function ask(call: Pick<Step, 'store' | 'method' | 'args'>, ms: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const step = { ...call, now: clock().getTime(), deadline: monotonicMs() + ms }
      const timer = setTimeout(() => pending.settle(late), ms)
      const pending: Pending = {
        step,
        settle(outcome) {
          clearTimeout(timer)
          waiting.delete(pending)
          if ('value' in outcome) resolve(outcome.value)
          else reject(errorOf(outcome.fault))
        },
      }
      waiting.add(pending)
      sending ??= sendAll()
    })
  }

  async function write(store: keyof Writes, method: string, args: readonly unknown[]): Promise<unknown> {
    if (isClosed || !isOpen()) throw new Unavailable('SQLite is not open')
    return await ask({ store, method, args }, answerMs)
  }

  const writes = Object.entries(writeMethods).map(([store, methods]) => {
    const name = store as keyof Writes // safe: `Object.entries` widens the type of keys
    const calls = Object.keys(methods).map((method) => [method, (...args: unknown[]) => write(name, method, args)])
    return [store, Object.fromEntries(calls)]
  })

  return {
    writes: Object.fromEntries(writes) as Writes, // safe: `writeMethods` has every method, and the thread's types match

    /** Opens the file and creates its tables. Throws `Unavailable` or `Unsuitable`. */
    async open(found: FoundPlace): Promise<void> {
      place = found
      await ask({ store: 'meta', method: 'open', args: [] }, openMs)
    },

    /** Finishes the calls that were made, and closes the file. */
    async close(): Promise<void> {
      isClosed = true
      if (sending !== null) await inTime(sending, closeMs)
      await thread.closeFile(file)
    },
  }
}

const late: Outcome = { fault: { kind: 'unavailable', message: 'SQLite did not answer in time' } }

function errorOf({ kind, message, cause }: Fault): Error {
  switch (kind) {
    case 'unavailable':
      return new Unavailable(message, { cause })
    case 'unsuitable':
      return new Unsuitable(message, { cause })
    case 'mistake':
      return new Error(message, { cause })
  }
}
