import type { Worker } from 'node:worker_threads'
import { inTime } from '../../../lib/in-time.ts'
import { startWorker } from '../../../lib/worker-file.ts'
import type { Fault, Order, Outcome, Report } from './protocol.ts'

/** How long closing waits for a disk that hangs. */
export const closeMs = 2_000

/** The thread's answer, or the reason why there is none. */
type Answer = readonly Outcome[] | Fault

export type WriterThread = ReturnType<typeof writerThread>

export function startThread(): Worker {
  return startWorker('sqlite-writer-thread', new URL('./write/thread.ts', import.meta.url))
}

/**
 * The event loop's handle on the thread that writes. Files that share the thread wait for each other's fsyncs, and for
 * nothing else. The thread is started by the first write, and by the first one after it died.
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
