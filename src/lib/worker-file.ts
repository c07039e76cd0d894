import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * Starts a thread from `dist/<name>.js`, or from `source` if this file runs from source. Node strips its types, so the
 * thread does without the options of the process, which would load the tests' loader again.
 */
export function startWorker(name: string, source: URL, options: WorkerOptions = {}): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL(`./${name}.js`, import.meta.url), options)
  return new Worker(source, { ...options, execArgv: [] })
}
