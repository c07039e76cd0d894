import { parentPort } from 'node:worker_threads'
import driver from 'better-sqlite3'
import { connectWriter, type Place } from '../connection.ts'
import { writtenFile } from '../written-file.ts'
import { batchRunner, type Outcome, type Step } from './batch.ts'

/** A batch for an opening of a file, of which one at a time is sent; or that it closes; or the end of all. */
export type Order =
  | { readonly file: number; readonly place: Place; readonly steps: readonly Step[] }
  | { readonly file: number; readonly steps: 'close' }
  | 'end'

/** What came of an opening's order: an outcome for each step, none when it was closed. */
export interface Report {
  readonly file: number
  readonly outcomes: readonly Outcome[]
}

/** The entry of the writer's thread. */
if (parentPort === null) throw new Error('writer-thread is the entry of a worker thread')
const port = parentPort
const files = new Map<number, ReturnType<typeof writtenFile>>()

function report(file: number, outcomes: readonly Outcome[]): void {
  port.postMessage({ file, outcomes } satisfies Report)
}

function opened(file: number, place: Place) {
  const known = files.get(file)
  if (known !== undefined) return known
  const made = writtenFile(
    batchRunner(() => connectWriter(driver, place)),
    (outcomes) => report(file, outcomes),
  )
  files.set(file, made)
  return made
}

function close(file: number): void {
  files.get(file)?.close()
  files.delete(file)
}

port.on('message', (order: Order) => {
  if (order === 'end') {
    for (const file of files.keys()) close(file)
    port.close()
  } else if (order.steps === 'close') {
    close(order.file)
    report(order.file, [])
  } else {
    opened(order.file, order.place).write(order.steps)
  }
})
