import { Worker } from 'node:worker_threads'

/** Starts a writer for the file at `path`: from the bundle beside this module, or from source. */
export function startThread(path: string): Worker {
  const options = { workerData: { path } }
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./sqlite-writer-thread.js', import.meta.url), options)
  }
  // `--import tsx` reaches a worker, but its hooks do not: they are registered in the thread itself.
  const entry = new URL('./writer-thread.ts', import.meta.url).href
  const source = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(entry)}) })`
  return new Worker(source, { ...options, eval: true })
}
