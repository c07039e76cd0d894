import { Worker, type WorkerOptions } from 'node:worker_threads'

/**
 * Starts a thread: from `dist/<name>.js` when built, otherwise from `source`, whose types Node strips. A thread from
 * source takes no options of the process, because loading the tests' loader again would cost half a second.
 */
export function startWorker(name: string, source: URL, options: WorkerOptions = {}): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL(`./${name}.js`, import.meta.url), options)
  return new Worker(source, { ...options, execArgv: [] })
}
