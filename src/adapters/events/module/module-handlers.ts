import { type EventHandlers, HandlerFailed } from '../../../application/ports/event-handlers.ts'
import { Unavailable } from '../../../domain/refusal.ts'
import { failureOf, timedOut } from '../handler-failure.ts'
import { allArgumentsOf, type HandlerName, handlerNameOf, meantHandler } from '../handlers.ts'
import { type CallMessage, startThread, type Thread, type ToThread } from './start-thread.ts'

export interface HandlerModuleOptions {
  /** An ES module that exports handlers by their names: see `Handlers`. */
  readonly url: URL
  readonly log: { warn(fields: object, message: string): void }
  /** Receives the output of handlers. It must not be standard output, which may be a stream of events. */
  readonly output?: NodeJS.WritableStream
  readonly loadSeconds?: number
}

interface HandlerModule extends EventHandlers {
  /** Loads the module; until then it handles nothing. Rejects when loading fails. */
  start(): Promise<void>
  /** Ends the thread, and rejects running and waiting calls. */
  close(): Promise<void>
}

interface Waiting {
  readonly message: ToThread
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
  progress: 'queued' | 'sent' | 'begun'
}

const firstDelaySeconds = 0.1
const maxDelaySeconds = 5

/**
 * Runs the deployer's handlers in one thread, several calls at a time. A handler that exits, loops or exceeds its
 * time-out ends that thread, and a new one starts. Calls that had begun are rejected; the new thread gets the others.
 */
export function handlerModule(options: HandlerModuleOptions): HandlerModule {
  const { url, log, output = process.stderr, loadSeconds = 10 } = options
  const waiting = new Map<number, Waiting>()
  let handled: ReadonlySet<HandlerName> = new Set()
  let thread: Thread | null = null
  let starting: Promise<void> = Promise.resolve()
  let restart: NodeJS.Timeout | undefined
  let endsInARow = 0
  let lastId = 0
  const closing = new AbortController()
  const { signal } = closing

  async function startOne(): Promise<void> {
    const started = await startThread({ url, loadSeconds, signal, output, onMessage, onEnd })
    if (signal.aborted) return started.end()
    thread = started
    handled = new Set(started.loaded.names)
    for (const one of waiting.values()) send(one)
  }

  function send(one: Waiting): void {
    if (thread === null) return
    one.progress = 'sent'
    thread.send(one.message)
  }

  function onMessage(message: CallMessage): void {
    const one = waiting.get(message.id)
    if (one === undefined) return
    if (message.type === 'begun') {
      one.progress = 'begun'
      return
    }
    forget(one)
    if (message.type === 'threw') {
      one.reject(failureOf(one.message.name, message.thrown))
    } else {
      endsInARow = 0
      one.resolve()
    }
  }

  function forget(one: Waiting): void {
    clearTimeout(one.timer)
    waiting.delete(one.message.id)
  }

  function onEnd(why: object): void {
    thread = null
    for (const one of waiting.values()) {
      if (one.progress === 'begun') {
        forget(one)
        one.reject(new HandlerFailed('HandlerThreadEnded', `the handler thread ended while ${one.message.name} ran`))
      } else {
        one.progress = 'queued'
      }
    }
    if (signal.aborted) return
    log.warn(why, 'the handler thread ended and is started again')
    startAgain()
  }

  function startAgain(): void {
    const seconds = Math.min(maxDelaySeconds, firstDelaySeconds * 2 ** endsInARow)
    endsInARow += 1
    restart = setTimeout(() => {
      starting = startOne().catch((error: Error) => {
        if (signal.aborted) return
        log.warn({ error: error.message }, 'the handler module cannot be loaded again')
        startAgain()
      })
    }, seconds * 1000)
  }

  function onTimeout(one: Waiting, seconds: number): void {
    forget(one)
    const { name } = one.message
    const hasBegun = one.progress === 'begun'
    one.reject(hasBegun ? timedOut(name, seconds) : new Unavailable(`the handlers were busy for ${seconds} s`))

    // A thread that does not begin a call is stuck, either in another call, whose time-out ends the thread, or in code that
    // still runs after its call.
    const others = [...waiting.values()]
    const isStuck = one.progress === 'sent' && !others.some((other) => other.progress === 'begun')
    if (!hasBegun && !isStuck) return
    const stuck = thread
    thread = null
    void stuck?.end()
  }

  return {
    async start() {
      const first = startOne()
      starting = first.catch(() => undefined)
      await first
      for (const name of thread?.loaded.unknown ?? []) {
        log.warn({ export: name, ...meantHandler(name) }, 'the handler module exports a name that is not a handler')
      }
      if (handled.size === 0) log.warn({}, 'the handler module exports no handler')
    },

    handles: (type) => handled.has(handlerNameOf(type)),

    call(call, timeoutSeconds) {
      if (signal.aborted) return Promise.reject(new Unavailable('the handlers are closed'))
      return new Promise((resolve, reject) => {
        lastId += 1
        const one: Waiting = {
          message: {
            id: lastId,
            name: handlerNameOf(call.type),
            args: allArgumentsOf(call),
          },
          resolve,
          reject,
          timer: setTimeout(() => onTimeout(one, timeoutSeconds), timeoutSeconds * 1000),
          progress: 'queued',
        }
        waiting.set(lastId, one)
        send(one)
      })
    },

    async close() {
      closing.abort()
      clearTimeout(restart)
      for (const one of waiting.values()) {
        forget(one)
        one.reject(new Unavailable('the handlers are closed'))
      }
      await starting
      await thread?.end()
    },
  }
}
