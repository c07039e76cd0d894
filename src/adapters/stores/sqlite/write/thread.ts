import { parentPort } from 'node:worker_threads'
import driver from 'better-sqlite3'
import { connectWriter } from '../connection.ts'
import { demandSameFile } from '../data-file.ts'
import type { FoundPlace, Order, Outcome, Report } from '../protocol.ts'
import { type BatchWriter, batchWriter } from './batch.ts'

if (parentPort === null) throw new Error('this module is the entry of a worker thread')
const port = parentPort
const files = new Map<number, BatchWriter>()

function opened(file: number, place: FoundPlace): BatchWriter {
  const known = files.get(file)
  if (known !== undefined) return known
  const writer = batchWriter({ connect: () => connectWriter(driver, place), check: () => demandSameFile(place) })
  files.set(file, writer)
  return writer
}

function close(file: number): void {
  files.get(file)?.close()
  files.delete(file)
}

function report(file: number, outcomes: readonly Outcome[]): void {
  port.postMessage({ file, outcomes } satisfies Report)
}

port.on('message', async (order: Order) => {
  if (order === 'end') {
    for (const file of files.keys()) close(file)
    port.close()
  } else if (order.steps === 'close') {
    close(order.file)
    report(order.file, [])
  } else {
    const { file, place, steps } = order
    report(file, await opened(file, place).write(steps))
  }
})
