import type { Worker } from 'node:worker_threads'
import { Unavailable } from '../../../domain/refusal.ts'
import { Unsuitable } from '../backend.ts'
import { type Fault, monotonicMs, type Outcome, type Step } from './batches.ts'
import type { OperationName, Operations } from './operations.ts'

const maxBatch = 200
const patienceMs = 2_000
/** Starting the thread, loading the driver and building the tables may take longer than a write. */
const startPatienceMs = 10_000
const endPatienceMs = 2_000
/** More wait only while the disk hangs; those that were given up make room then. */
const manyWaiting = 1_000

export interface Writer {
  /**
   * Runs an operation in the writer's thread and resolves when it is durable. Rejects with `Unavailable` when
   * there is no answer within 2 s, or the thread died: whether it was written is not known then, and only
   * reading tells. What has not begun within that time is never begun.
   */
  run<N extends OperationName>(name: N, ...args: Parameters<Operations[N]>): Promise<ReturnType<Operations[N]>>

  /** Opens the file and brings its tables up to date. Throws `Unavailable` or `Unsuitable`. */
  start(): Promise<void>

  /** Finishes what was asked for, moves the log into the file and ends the thread. */
  close(): Promise<void>
}

interface Pending {
  readonly step: Step
  readonly done: Promise<unknown>
  /** `true` once it was answered, or given up. */
  isOver(): boolean
  settle(outcome: Outcome): void
}

/**
 * The event loop's side of the writer. Whatever is asked for while a batch is being written goes into the
 * next one, so that a slow disk makes batches longer instead of the queue.
 */
export function sqliteWriter(startThread: () => Worker): Writer {
  let thread: Worker | null = null
  let waiting: Pending[] = []
  let inFlight: readonly Pending[] = []
  let isScheduled = false
  let isClosed = false

  function begun(): Worker {
    const worker = startThread()
    worker.on('message', (outcomes: readonly Outcome[]) => {
      worker.unref() // an idle writer keeps no process alive
      answer((_, at) => outcomes[at] ?? unavailable('SQLite writer gave no answer'))
    })
    // A worker that fails says 'error' and then 'exit'.
    worker.on('error', (error) => over(worker, `: ${error.message}`))
    worker.on('exit', () => over(worker, ''))
    return worker
  }

  function over(worker: Worker, why: string): void {
    if (thread !== worker) return
    thread = null
    answer(() => unavailable(`SQLite writer ended${why}`))
  }

  function answer(outcomeOf: (pending: Pending, at: number) => Outcome): void {
    const answered = inFlight
    inFlight = []
    for (const [at, pending] of answered.entries()) pending.settle(outcomeOf(pending, at))
    send()
  }

  function send(): void {
    if (inFlight.length > 0) return
    waiting = waiting.filter((pending) => !pending.isOver())
    if (waiting.length === 0) return
    inFlight = waiting.splice(0, maxBatch)
    try {
      thread ??= begun()
      thread.ref()
      thread.postMessage(inFlight.map((pending) => pending.step))
    } catch (error) {
      answer(() => ({
        fault: { kind: 'mistake', message: 'SQLite was asked for what is no plain data', cause: error },
      }))
    }
  }

  function ask(name: OperationName, args: readonly unknown[], patience: number): Promise<unknown> {
    if (isClosed) return Promise.reject(new Unavailable('SQLite is closed'))
    const pending = newPending({ name, args, deadline: monotonicMs() + patience }, patience)
    if (waiting.length >= manyWaiting) waiting = waiting.filter((one) => !one.isOver())
    waiting.push(pending)
    if (!isScheduled) {
      isScheduled = true
      // Not at once: the requests that arrived in the same turn of the loop go into the same batch.
      setImmediate(() => {
        isScheduled = false
        send()
      })
    }
    return pending.done
  }

  return {
    run(name, ...args) {
      // Safe: the thread answers with what this operation of the same table returned.
      return ask(name, args, patienceMs) as Promise<ReturnType<Operations[typeof name]>>
    },

    async start() {
      await ask('reach', [], startPatienceMs)
    },

    async close() {
      isClosed = true
      await Promise.allSettled([...inFlight, ...waiting].map((pending) => pending.done))
      const worker = thread
      if (worker === null) return
      worker.ref()
      worker.postMessage('close')
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => {
          worker.unref() // never `terminate`: the driver aborts the process when a statement then fails
          resolve()
        }, endPatienceMs)
        worker.once('exit', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
  }
}

function newPending(step: Step, patience: number): Pending {
  let isOver = false
  let settle: (outcome: Outcome) => void = () => {}
  const done = new Promise<unknown>((resolve, reject) => {
    const timer = setTimeout(() => settle(unavailable('SQLite did not answer in time')), patience)
    settle = (outcome) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      if ('value' in outcome) resolve(outcome.value)
      else reject(thrown(outcome.fault))
    }
  })
  return { step, done, isOver: () => isOver, settle: (outcome) => settle(outcome) }
}

function unavailable(message: string): Outcome {
  return { fault: { kind: 'unavailable', message } }
}

function thrown(fault: Fault): Error {
  switch (fault.kind) {
    case 'unavailable':
      return new Unavailable(fault.message, { cause: fault.cause })
    case 'unsuitable':
      return new Unsuitable(fault.message, { cause: fault.cause })
    case 'mistake':
      return new Error(fault.message, { cause: fault.cause })
  }
}
