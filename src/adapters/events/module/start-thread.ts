import { startWorker } from '../../../lib/worker-file.ts'
import { describe, type Thrown } from '../handler-failure.ts'
import type { HandlerName } from '../handlers.ts'

export interface ToThread {
  readonly id: number
  readonly name: HandlerName
  readonly args: readonly unknown[]
}

export interface Loaded {
  readonly type: 'loaded'
  readonly names: readonly HandlerName[]
  /** Exports that are probably misspelt handlers. */
  readonly unknown: readonly string[]
}

export type CallMessage =
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'threw'; readonly id: number; readonly thrown: Thrown }

export type FromThread = Loaded | { readonly type: 'not_loaded'; readonly reason: string } | CallMessage

export interface Thread {
  readonly loaded: Loaded
  send(message: ToThread): void
  /** Ends the thread at once; `onEnd` is called as for any other end. */
  end(): Promise<void>
}

interface ThreadOptions {
  readonly url: URL
  readonly loadSeconds: number
  readonly signal: AbortSignal
  readonly output: NodeJS.WritableStream
  readonly onMessage: (message: CallMessage) => void
  /** The reason of the end: the name of an uncaught error, or the exit code. Not called before the module is loaded. */
  readonly onEnd: (why: { readonly error: string | null; readonly where: string | null; readonly code: number }) => void
}

/** Resolves to a thread that has loaded the module. When the module cannot be loaded, ends the thread and rejects. */
export function startThread(options: ThreadOptions): Promise<Thread> {
  const { url, loadSeconds, signal, output, onMessage, onEnd } = options
  return new Promise((resolve, reject) => {
    const source = new URL('./thread.ts', import.meta.url)
    const worker = startWorker('handler-thread', source, { workerData: url.href, stdout: true, stderr: true })
    worker.stdout.pipe(output, { end: false })
    worker.stderr.pipe(output, { end: false })

    let isLoaded = false
    let uncaught: unknown = null
    let objection = 'it ended while it was loaded'
    const giveUp = (why: string): void => {
      objection = why
      void worker.terminate()
    }
    const tooLate = AbortSignal.any([signal, AbortSignal.timeout(loadSeconds * 1000)])
    const onAbort = (): void =>
      giveUp(signal.aborted ? 'it is not needed any more' : `it did not load within ${loadSeconds} s`)
    const loadingEnded = (): void => tooLate.removeEventListener('abort', onAbort)
    tooLate.addEventListener('abort', onAbort)

    worker.on('message', (message: FromThread) => {
      if (message.type === 'not_loaded') return giveUp(message.reason)
      if (message.type !== 'loaded') return onMessage(message)
      loadingEnded()
      isLoaded = true
      resolve({
        loaded: message,
        send: (call) => worker.postMessage(call),
        end: async () => {
          await worker.terminate()
        },
      })
    })
    worker.on('error', (error) => {
      uncaught = error
    })
    worker.on('exit', (code) => {
      loadingEnded()
      if (!isLoaded) {
        const why = uncaught === null ? objection : String(uncaught)
        return reject(new Error(`the handler module ${url.href} cannot be used: ${why}`, { cause: uncaught }))
      }
      const { name, where } = uncaught === null ? { name: null, where: null } : describe(uncaught)
      onEnd({ error: name, where, code })
    })
  })
}
