import { Unavailable } from '../../../domain/refusal.ts'
import { Unsuitable } from '../store-backend.ts'
import type { Opening } from './thread.ts'
import { type Fault, monotonicMs, type Outcome, type Step } from './write/batch.ts'
import type { OperationName, Operations } from './write/operations.ts'

const maxBatch = 200
/** Less than the 2 s in which everybody is to have an answer, whatever else it takes. */
const patienceMs = 1_950
/** Starting the thread, loading the driver and building the tables may take longer than a write. */
const startPatienceMs = 10_000
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

  /** Finishes what was asked for and lets go of the file. */
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
 * What is to be written to one file. Whatever is asked for while a batch is being written goes into the next one, so
 * that a slow disk makes batches longer instead of the queue.
 */
export function sqliteWriter(file: Opening): Writer {
  let waiting: Pending[] = []
  let inFlight: readonly Pending[] = []
  let isScheduled = false
  let isClosed = false

  async function send(): Promise<void> {
    while (inFlight.length === 0) {
      waiting = waiting.filter((pending) => !pending.isOver())
      if (waiting.length === 0) return
      const batch = waiting.splice(0, maxBatch)
      inFlight = batch
      const outcomes = await file.write(batch.map((pending) => pending.step))
      for (const [at, pending] of batch.entries()) {
        pending.settle(outcomes[at] ?? unavailable('SQLite writer gave no answer'))
      }
      inFlight = []
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
      await file.close()
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
