import type { Worker } from 'node:worker_threads'
import { startWorker } from '../../../lib/worker-file.ts'

/** Starts a writer's thread. */
export function startThread(): Worker {
  return startWorker('sqlite-writer-thread', new URL('./write/thread.ts', import.meta.url))
}
