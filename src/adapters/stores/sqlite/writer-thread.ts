import { parentPort, workerData } from 'node:worker_threads'
import driver from 'better-sqlite3'
import { batchRunner, type Step } from './batches.ts'
import { connectWriter } from './connection.ts'

/** The entry of the writer's thread: a batch in, its outcomes out; `'close'` ends it. */
if (parentPort === null) throw new Error('writer-thread is the entry of a worker thread')
const port = parentPort
const runner = batchRunner(() => connectWriter(driver, workerData.path))

port.on('message', (message: readonly Step[] | 'close') => {
  if (message === 'close') {
    runner.close()
    port.close()
  } else {
    port.postMessage(runner.run(message))
  }
})
