import cluster, { type Worker } from 'node:cluster'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../adapters/logging/log.ts'
import type { ExitCode } from '../output.ts'
import { isTerminalClosed } from '../terminal.ts'
import { passOnLost } from './lost-connections.ts'
import type { Told } from './part.ts'

interface Needs {
  readonly processes: number
  /** The arguments of each process. */
  readonly args: readonly string[]
  /** The variables of each process, beside those of the primary. */
  readonly env: Readonly<Record<string, string>>
  readonly log: Logger
  /** Called for each message of a process. */
  readonly told: (worker: Worker, message: Told) => void
  /** Called when a process has ended. */
  readonly gone: (worker: Worker) => void
}

/** One of the processes, and later the one that replaces it. */
interface Place {
  /** `null` while it starts. */
  worker: Worker | null
  /** The starts since a process has served here for a while. */
  starts: number
}

/** The end of a process before it served. */
class Ended {
  readonly code: number | null
  readonly signal: string | null

  constructor(code: number | null, signal: string | null) {
    this.code = code
    this.signal = signal
  }

  get exitCode(): ExitCode {
    return this.code === 2 ? 2 : 1
  }
}

/** The end of a process that has served for this time has nothing to do with its start. */
const livedMilliseconds = 30_000
const firstPauseMilliseconds = 500
const longestPauseMilliseconds = 30_000
/** A process ends itself after 9.7 s, unless it hangs. */
const stopMilliseconds = 11_000

/** Keeps the processes running until SIGTERM or SIGINT. Their ports are open as long as one of them serves. */
export class Primary {
  readonly #needs: Needs
  readonly #places: readonly Place[]
  readonly #serving = new Set<Worker>()
  readonly #ended = Promise.withResolvers<ExitCode>()
  #isStopping = false
  #reloads = 0

  constructor(needs: Needs) {
    this.#needs = needs
    this.#places = Array.from({ length: needs.processes }, () => ({ worker: null, starts: 0 }))
  }

  get serving(): readonly Worker[] {
    return [...this.#serving]
  }

  async run(): Promise<ExitCode> {
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ args: [...this.#needs.args] })
    // A restart waits for the start and for the restart before it.
    let acting = this.#startAll()
    process.on('SIGHUP', () => {
      if (isTerminalClosed()) void this.#stop('SIGHUP')
      else this.#reloadAll()
    })
    process.on('SIGUSR2', () => {
      acting = acting.then(() => this.#restartAll())
    })
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void this.#stop(signal))
    return this.#ended.promise
  }

  /** The first process creates the secret and migrates the stores, so the others start after it. */
  async #startAll(): Promise<void> {
    const [first, ...others] = this.#places
    if (first === undefined) return
    const worker = await this.#start()
    if (this.#isStopping) return
    if (worker instanceof Ended) {
      const { signal } = worker
      // Otherwise it has told why itself.
      if (signal !== null)
        this.#needs.log.error({ signal }, 'the first process was killed while it started: it may need more memory')
      return this.#ended.resolve(worker.exitCode)
    }
    this.#put(worker, first)
    for (const place of others) void this.#fill(place)
  }

  /** Resolves when the new process serves, or has ended before. */
  #start(): Promise<Worker | Ended> {
    const { env, log, told, gone } = this.#needs
    const worker = cluster.fork({ ...env })
    passOnLost(worker)
    const reloads = this.#reloads
    return new Promise((resolve) => {
      worker.on('error', (err) => {
        log.warn({ err, process: worker.process.pid }, 'a process cannot be reached')
        if (worker.process.pid === undefined) resolve(new Ended(null, null)) // the system starts no more
      })
      worker.on('message', (message: Told) => {
        told(worker, message)
        if (message.is !== 'serving') return
        this.#serving.add(worker)
        if (this.#reloads > reloads) worker.process.kill('SIGHUP') // it may have read the settings before
        resolve(worker)
      })
      worker.once('exit', (code, signal) => {
        this.#serving.delete(worker)
        gone(worker)
        resolve(new Ended(code, signal))
      })
    })
  }

  /** Starts another process at this place when the worker ends. */
  #put(worker: Worker, place: Place): void {
    const since = performance.now()
    place.worker = worker
    worker.once('exit', (code, signal) => {
      if (this.#isStopping || place.worker !== worker) return
      place.worker = null
      if (performance.now() - since > livedMilliseconds) place.starts = 0
      this.#needs.log.error({ process: worker.process.pid, code, signal }, 'a process ended: starting another')
      void this.#fill(place)
    })
  }

  /** Starts processes, after pauses that grow, until one serves. */
  async #fill(place: Place): Promise<void> {
    for (;;) {
      const pause = place.starts === 0 ? 0 : firstPauseMilliseconds * 2 ** (place.starts - 1)
      place.starts += 1
      await delay(Math.min(pause, longestPauseMilliseconds))
      if (this.#isStopping) return
      const worker = await this.#start()
      if (this.#isStopping) return
      if (!(worker instanceof Ended)) return this.#put(worker, place)
      this.#needs.log.error({ code: worker.code, signal: worker.signal }, 'a process did not start: trying again')
      // As with one process: wrong settings are no reason to try again.
      if (worker.exitCode === 2 && this.#serving.size === 0) return void this.#stop('wrong settings', 2)
    }
  }

  /** At the same time, so that none waits for one that hangs. */
  #reloadAll(): void {
    this.#reloads += 1
    for (const worker of this.#serving) worker.process.kill('SIGHUP')
  }

  /** Each new process serves before the old one drains. If it does not start, the other old ones go on. */
  async #restartAll(): Promise<void> {
    const { log } = this.#needs
    for (const place of this.#places) {
      const old = place.worker
      if (this.#isStopping) return
      if (old === null) continue // it starts now
      const next = await this.#start()
      if (this.#isStopping) return
      if (next instanceof Ended) {
        return log.error(
          { code: next.code, signal: next.signal },
          'a process did not start: the others go on as before',
        )
      }
      // The old one may have ended meanwhile, and then another one starts already.
      if (place.worker !== old) {
        await this.#end(next)
        continue
      }
      this.#put(next, place)
      await this.#end(old)
    }
    log.info({ processes: this.#places.length }, 'restarted every process')
  }

  /** All drain at the same time. */
  async #stop(signal: string, wanted: ExitCode = 0): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    this.#needs.log.info({ signal }, 'stopping every process')
    const signals = Object.values(cluster.workers ?? {}).map((worker) => worker && this.#end(worker))
    const wasKilled = (await Promise.all(signals)).includes('SIGKILL')
    this.#ended.resolve(wasKilled && wanted === 0 ? 1 : wanted)
  }

  /** Ends a process within 11 s. Resolves to the signal that ended it, if any. */
  async #end(worker: Worker): Promise<string | null> {
    if (worker.isDead()) return null
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), stopMilliseconds)
    const ended = new Promise<string | null>((resolve) => worker.once('exit', (_code, signal) => resolve(signal)))
    worker.process.kill('SIGTERM')
    return ended.finally(() => clearTimeout(timer))
  }
}
