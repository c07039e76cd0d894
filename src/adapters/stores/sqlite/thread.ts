import type { Worker } from 'node:worker_threads'
import type { Place } from './connection.ts'
import type { Fault, Outcome, Step } from './write/batch.ts'
import type { Order, Report } from './write/thread.ts'

const endPatienceMs = 2_000

/**
 * The event loop's side of the thread that writes. It is started when there is something to write, and again when it
 * has died. Files that share it wait for each other's fsyncs, and for nothing else.
 */
export interface WriterThread {
  /** An opening of the file, told from every other one of the same file. */
  opening(place: Place): Opening
  /** To be called when every opening is closed. */
  close(): Promise<void>
}

export interface Opening {
  /** Resolves with an outcome for each step. Not to be called again before. */
  write(steps: readonly Step[]): Promise<readonly Outcome[]>
  /** Moves the log into the file and lets go of it; resolves within 2 s even where the disk hangs. */
  close(): Promise<void>
}

/** That of the thread, or why there is no thread any more. */
type Answer = readonly Outcome[] | { readonly ended: string }

export function writerThread(start: () => Worker): WriterThread {
  let worker: Worker | null = null
  let openings = 0
  const awaited = new Map<number, (answer: Answer) => void>()

  function begun(): Worker {
    const started = start()
    started.on('message', ({ file, outcomes }: Report) => settle(file, outcomes))
    // A worker that fails says 'error' and then 'exit'.
    started.on('error', (error) => over(started, `: ${error.message}`))
    started.on('exit', () => over(started, ''))
    return started
  }

  function over(ended: Worker, why: string): void {
    if (worker !== ended) return
    worker = null
    for (const file of [...awaited.keys()]) settle(file, { ended: `SQLite writer ended${why}` })
  }

  function settle(file: number, answer: Answer): void {
    const told = awaited.get(file)
    awaited.delete(file)
    if (awaited.size === 0) worker?.unref() // an idle writer keeps no process alive
    told?.(answer)
  }

  /** Throws what keeps the order from crossing to the thread. */
  function sent(to: Worker, file: number, order: Order): Promise<Answer> {
    to.postMessage(order)
    to.ref()
    return new Promise((resolve) => awaited.set(file, resolve))
  }

  function opening(place: Place): Opening {
    const file = openings++
    let writing: Promise<unknown> = Promise.resolve()

    async function write(steps: readonly Step[]): Promise<readonly Outcome[]> {
      const all = (fault: Fault): readonly Outcome[] => steps.map(() => ({ fault }))
      try {
        worker ??= begun()
      } catch (cause) {
        return all({ kind: 'unavailable', message: 'SQLite writer cannot be started', cause })
      }
      try {
        const answer = await sent(worker, file, { file, place, steps })
        return 'ended' in answer ? all({ kind: 'unavailable', message: answer.ended }) : answer
      } catch (cause) {
        return all({ kind: 'mistake', message: 'SQLite was asked for what is no plain data', cause })
      }
    }

    async function close(): Promise<void> {
      await writing
      if (worker !== null) await sent(worker, file, { file, steps: 'close' })
    }

    return {
      write(steps) {
        const outcomes = write(steps)
        writing = outcomes
        return outcomes
      },
      close: () => within(endPatienceMs, close()),
    }
  }

  return {
    opening,

    async close() {
      const ending = worker
      if (ending === null) return
      worker = null
      const exit = new Promise<void>((resolve) => ending.once('exit', () => resolve()))
      ending.ref()
      ending.postMessage('end' satisfies Order)
      if (awaited.size === 0) await within(endPatienceMs, exit)
      ending.unref() // never `terminate`: the driver aborts the process when a statement then fails
    },
  }
}

/** Resolves with `done`, and at the latest after `ms`. */
async function within(ms: number, done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}
