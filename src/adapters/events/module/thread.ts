import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parentPort, workerData } from 'node:worker_threads'
import { describe, refuseReturned } from '../handler-failure.ts'
import { handlerNames, misnamedHandlers } from '../handlers.ts'
import type { FromThread, ToThread } from './start-thread.ts'

/**
 * The entry of the thread for the deployer's module: loads it, reports its handlers, and calls them. When the module
 * ends the thread, the service notices the end.
 */

const post = (message: FromThread): void => parentPort?.postMessage(message)

async function load(url: string): Promise<void> {
  let exported: Record<string, unknown>
  try {
    exported = await import(url)
  } catch (error) {
    return post({ type: 'not_loaded', reason: `${error}${error instanceof SyntaxError ? placeOf(error, url) : ''}` })
  }

  const names = handlerNames.filter((name) => typeof exported[name] === 'function')
  const unknown = misnamedHandlers(exported)

  parentPort?.on('message', async ({ id, name, args }: ToThread) => {
    post({ type: 'begun', id })
    try {
      const handler = exported[name]
      if (typeof handler === 'function') refuseReturned(name, await handler(...args))
      post({ type: 'done', id })
    } catch (error) {
      post({ type: 'threw', id, thrown: describe(error) })
    }
  })
  post({ type: 'loaded', names, unknown })
}

/** V8 tells the line of a syntax error to nobody in this process, but Node prints it if it checks the file alone. */
function placeOf({ stack = '' }: SyntaxError, url: string): string {
  const check = () => spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8', timeout: 5_000 })
  const [first = ''] = (stack.startsWith('file:') ? stack : check().stderr).split('\n')
  const [, file, line] = /([^/\\]+):(\d+)$/.exec(first) ?? []
  return line === undefined ? '' : ` (${file}, line ${line})`
}

void load(String(workerData)) // the URL of the module, from `startThread`
