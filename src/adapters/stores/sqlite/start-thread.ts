import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** Starts a writer: from the bundle beside this module, or from source. */
export function startThread(): Worker {
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./sqlite-writer-thread.js', import.meta.url))
  }
  bundle ??= bundleOf(fileURLToPath(new URL('./write/thread.ts', import.meta.url)))
  return new Worker(bundle, { eval: true, execArgv: [] })
}

let bundle: string | undefined

/** A thread that is given TypeScript spends half a second on loading what loads it, each time. */
function bundleOf(entry: string): string {
  const require = createRequire(entry)
  const esbuild: typeof import('esbuild') = require('esbuild')
  const { outputFiles } = esbuild.buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    platform: 'node',
    packages: 'external',
    banner: { js: `require = require('node:module').createRequire(${JSON.stringify(entry)})` },
  })
  return outputFiles.map(({ text }) => text).join('')
}
