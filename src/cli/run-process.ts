import { setTimeout as delay } from 'node:timers/promises'
import { createLog, type Logger } from '../adapters/logging/log.ts'
import { printLine } from '../adapters/logging/print-line.ts'
import type { LoadedSettings } from '../config/settings/load.ts'
import type { LoadedTenants } from '../config/settings/tenants.ts'
import { changedForAll } from './changed-for-all.ts'
import type { ExitCode } from './exit-code.ts'
import { explain } from './explain.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { type GlobalOptions, only, settingsHere } from './settings.ts'

interface Options extends GlobalOptions {
  /** Whether it opens a port. */
  readonly listens: boolean
}

/** What runs until it is told to stop. */
export interface LongRunning {
  /** Takes up changed settings of tenants; answers them, with those disabled that it cannot work on. */
  reload(tenants: LoadedTenants): LoadedTenants
  stop(): Promise<void>
}

type Begin = (
  needs: LoadedSettings & {
    readonly log: Logger
    readonly write: (line: string) => Promise<void>
    readonly failed: (fault: unknown) => void
  },
) => Promise<LongRunning>

interface Running {
  readonly running: LongRunning
  readonly log: Logger
  readonly loaded: LoadedSettings
}

/** Whoever tells it to stop is promised 10 s. */
const deadlineMilliseconds = 9_700
/** Part of it: how long a slow reader of the log gets at the end. */
const slowReaderMilliseconds = 3_000
const pollMilliseconds = 20

/** Runs until a signal or a fault ends it. SIGHUP makes it read its tenants again. */
export async function runUntilTold(options: Options, begin: Begin): Promise<ExitCode> {
  let begun: (running: Running) => void = () => undefined
  const started = new Promise<Running>((resolve) => {
    begun = resolve
  })
  // Before the settings are read, so that no change of theirs goes unnoticed, and without tenants too.
  const readAgain = oneAtATime(async () => reload(options, await started))
  process.on('SIGHUP', readAgain)

  const given = await settingsHere(options.configFile, options)
  const loaded = { ...given, tenants: only(given, options.tenant) }
  const log = createLog(loaded.settings.logs)
  for (const warning of loaded.warnings) log.warn(warning)

  // Other commands end when they cannot print; this one delivers the events later.
  process.stdout.removeAllListeners('error').on('error', () => undefined)

  const ending = endOfProcess(log)
  void ending.reached.then(() => endInTime(log))
  // Where no tenant is open, nothing else keeps the process alive.
  const alive = setInterval(() => undefined, deadlineMilliseconds)
  try {
    const running = await begin({ ...loaded, log, write: printLine, failed: ending.failed })
    begun({ running, log, loaded })
    const code = await ending.reached
    await running.stop()
    log.info('stopped')
    await idleThreads()
    return code
  } finally {
    await Promise.race([logWritten(), delay(slowReaderMilliseconds)])
    clearInterval(alive)
  }
}

/** Tenants alone are read again: what belongs to the process needs a new one. Never rejects. */
async function reload(options: Options, { running, log, loaded }: Running): Promise<void> {
  if (loaded.settings.tenants.by === undefined)
    return log.info('SIGHUP: without tenants there is nothing to read again')
  try {
    const read = await settingsHere(options.configFile, options)
    const { settings, warnings } = read
    for (const warning of warnings) log.warn(warning)
    if (settings.tenants.by === undefined) {
      return log.error('tenants are gone from the settings: restart to go on without them')
    }
    const tenants = only(read, options.tenant)
    const changed = changedForAll(loaded.settings, settings)
    // They are judged by it: served in the old way, they would be wrong in the new one.
    if (changed.includes('tenants.by'))
      return log.error('tenants.by has changed: restart to take it up; the tenants stay')
    if (changed.length > 0)
      log.warn({ settings: changed }, 'settings of the whole have changed: restart to take them up')
    const { enabled, disabled } = running.reload(tenants)
    log.info({ enabled: enabled.size, disabled: disabled.size }, 'read the tenants again')
  } catch (err) {
    log.error({ err }, 'the settings cannot be read: the tenants stay as they were')
  }
}

/** Resolves to the exit code when a signal or a fault ends the service. Signals may come twice: npm passes them on. */
function endOfProcess(log: Logger): { reached: Promise<ExitCode>; failed: (fault: unknown) => void } {
  let end: (code: ExitCode) => void
  const reached = new Promise<ExitCode>((resolve) => {
    end = resolve
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      log.info({ signal }, 'stopping')
      end(0)
    })
  }
  const failed = (fault: unknown): void => {
    const { text, blame } = explain(fault)
    process.stderr.write(`portcullis: ${text}\n`)
    end(blame === 'settings' ? 2 : 1)
  }
  const crashed = (err: unknown): void => {
    log.fatal({ err }, 'a fault that nobody expected; stopping')
    end(1)
  }
  process.on('unhandledRejection', crashed)
  process.on('uncaughtException', crashed)
  return { reached, failed }
}

/** However far the start or the stop has come: whoever sent the signal does not wait for longer. */
function endInTime(log: Logger): void {
  setTimeout(() => {
    log.error('stopping took too long')
    // `process.exit` waits for threads, and one that hangs in a system call does not end.
    process.kill(process.pid, 'SIGKILL')
  }, deadlineMilliseconds)
}

/** Resolves when every line of the log is written, or cannot be written. */
function logWritten(): Promise<void> {
  return new Promise((resolve) => process.stderr.write('', () => resolve()))
}

/** Resolves when the process can exit, which waits for files and name servers that do not answer. */
async function idleThreads(): Promise<void> {
  const isBusy = (): boolean => process.getActiveResourcesInfo().some((one) => /^(FSReq|GetAddrInfoReq)/.test(one))
  while (isBusy()) await delay(pollMilliseconds)
}
