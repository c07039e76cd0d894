import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { Unavailable } from '../../../domain/refusal.ts'
import { inTime } from '../../../lib/timers.ts'
import { startWorker } from '../../../lib/worker-file.ts'
import { Unsuitable } from '../store-backend.ts'
import {
  type Fault,
  type FoundPlace,
  monotonicMs,
  type Order,
  type Outcome,
  type Report,
  type Step,
  type Writes,
  writeMethods,
} from './protocol.ts'

const maxBatch = 200
/** Less than the 2 s within which every caller gets an answer. */
const answerMs = 1_950
/** Starting the thread, loading the driver and migrating the file may take longer than a write. */
const openMs = 10_000
/** The longest wait of closing for a disk that hangs. */
const closeMs = 2_000

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

    /** Opens the file and runs its missing migrations. Throws `Unavailable` or `Unsuitable`. */
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

/** The thread's answer, or the reason why there is none. */
type Answer = readonly Outcome[] | Fault

type WriterThread = ReturnType<typeof writerThread>

export function startThread(): Worker {
  return startWorker('sqlite-writer-thread', new URL('./write/thread.ts', import.meta.url))
}

/**
 * The event loop's handle on the thread that writes. Files that share the thread wait for each other's fsyncs, and for
 * nothing else. The first write starts the thread, and so does the first one after it died.
 */
export function writerThread(start: () => Worker) {
  let worker: Worker | null = null
  let files = 0
  const awaited = new Map<number, (answer: Answer) => void>()

  function settle(file: number, answer: Answer): void {
    const resolve = awaited.get(file)
    awaited.delete(file)
    if (awaited.size === 0) worker?.unref() // an idle thread keeps no process alive
    resolve?.(answer)
  }

  function started(): Worker {
    const made = start()
    made.on('message', ({ file, outcomes }: Report) => settle(file, outcomes))
    // A worker that fails emits 'error' and then 'exit'.
    made.on('error', (error) => ended(made, `: ${error.message}`))
    made.on('exit', () => ended(made, ''))
    return made
  }

  function ended(made: Worker, why: string): void {
    if (worker !== made) return
    worker = null
    const fault: Fault = { kind: 'unavailable', message: `SQLite writer ended${why}` }
    for (const file of [...awaited.keys()]) settle(file, fault)
  }

  function send(to: Worker, file: number, order: Order): Promise<Answer> {
    to.postMessage(order)
    to.ref()
    return new Promise((resolve) => awaited.set(file, resolve))
  }

  return {
    newFile: (): number => files++,

    /** An outcome for each step. A file's next call comes after the answer. */
    async write(order: Extract<Order, { place: unknown }>): Promise<Answer> {
      try {
        worker ??= started()
      } catch (cause) {
        return { kind: 'unavailable', message: 'SQLite writer cannot be started', cause }
      }
      try {
        return await send(worker, order.file, order)
      } catch (cause) {
        return { kind: 'mistake', message: 'SQLite was given arguments that are not plain data', cause }
      }
    },

    /** Moves the log into the file and closes it, within 2 s even if the disk hangs. */
    async closeFile(file: number): Promise<void> {
      if (worker !== null) await inTime(send(worker, file, { file, steps: 'close' }), closeMs)
    },

    /** Ends the thread, once every file is closed. */
    async close(): Promise<void> {
      const ending = worker
      if (ending === null) return
      worker = null
      const exit = new Promise<void>((resolve) => ending.once('exit', () => resolve()))
      ending.ref()
      ending.postMessage('end' satisfies Order)
      if (awaited.size === 0) await inTime(exit, closeMs)
      ending.unref() // never `terminate`: the driver aborts the process when a statement then fails
    },
  }
}
