import { setTimeout as delay } from 'node:timers/promises'
import { createLog, type Logger } from '../adapters/logging/log.ts'
import { printLine } from '../adapters/logging/print-line.ts'
import type { ProcessNeeds, RunningProcess } from '../config/composition/shared-resources.ts'
import type { LoadedSettings } from '../config/settings/load.ts'
import { explain } from './explain.ts'
import { type ExitCode, warn } from './output.ts'
import type { Part } from './processes/part.ts'
import { reloader } from './reload.ts'
import { type GlobalOptions, settingsHere, tenantsOfCommand } from './settings.ts'
import { isTerminalClosed, noticeTerminal } from './terminal.ts'

interface Options extends GlobalOptions {
  /** Whether the process opens a port. */
  readonly listens: boolean
  /** Given if several processes serve together, and this is one of them. */
  readonly part?: Part | undefined
}

/** Starts a service or a worker. */
type Begin = (needs: ProcessNeeds) => Promise<RunningProcess>

/** The documentation promises an end within 10 s of the signal. */
const deadlineMilliseconds = 9_700
/** Part of the deadline: the time for a slow reader of the log. */
const slowReaderMilliseconds = 3_000
const pollMilliseconds = 20

/** Runs until a signal, a fault or the end of its terminal ends the process. SIGHUP reloads the settings. */
export async function runProcess(options: Options, begin: Begin): Promise<ExitCode> {
  const { part } = options
  // Set before the settings are read, so that a change during the start is not lost. One reload follows the other.
  const started = Promise.withResolvers<() => Promise<void>>()
  let reloading = Promise.resolve()
  process.on('SIGHUP', () => {
    if (isTerminalClosed()) return
    reloading = reloading.then(async () => (await started.promise)())
  })

  const read = async (): Promise<LoadedSettings> => {
    const settings = await settingsHere(options.configFile, options)
    const loaded = { ...settings, tenants: tenantsOfCommand(settings, options.tenant) }
    return part === undefined ? loaded : part.settingsOf(loaded)
  }
  const loaded = await read()
  const plainLog = createLog(loaded.settings.logs)
  const log = part === undefined ? plainLog : plainLog.child({ process: process.pid })
  for (const warning of loaded.warnings) log.warn(warning)

  // Unlike other commands, this one continues when nobody reads its output: it delivers the events later.
  process.stdout.removeAllListeners('error').on('error', () => undefined)

  const ending = endOfProcess(log, part)
  void ending.reached.then(() => endInTime(log))
  // Keeps the process alive if no tenant is open.
  const alive = setInterval(noticeTerminal, deadlineMilliseconds)
  try {
    const shared = part && { processes: part.processes, sharedFigures: part.figures }
    const running = await begin({ ...loaded, log, write: printLine, failed: ending.failed, ...shared })
    started.resolve(reloader({ started: loaded, read, apply: running.reload, log }))
    part?.serves()
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

/** Resolves to the exit code when a signal or a fault ends the service. npm passes signals on, so they may come twice. */
function endOfProcess(
  log: Logger,
  part: Part | undefined,
): { reached: Promise<ExitCode>; failed: (fault: unknown) => void } {
  const { promise: reached, resolve: end } = Promise.withResolvers<ExitCode>()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && !isTerminalClosed()) return
      log.info({ signal }, 'stopping')
      end(0)
    })
  }
  void part?.orphaned.then(() => {
    log.error('the process that started this one has ended; stopping')
    end(1)
  })
  const failed = (fault: unknown): void => {
    const { text, code } = explain(fault)
    warn(text)
    end(code)
  }
  const crashed = (err: unknown): void => {
    log.fatal({ err }, 'unexpected fault; stopping')
    end(1)
  }
  process.on('unhandledRejection', crashed)
  process.on('uncaughtException', crashed)
  return { reached, failed }
}

/** Ends the process at the deadline, even if the start or the stop hangs. */
function endInTime(log: Logger): void {
  setTimeout(() => {
    log.error('the process did not stop in time')
    // `process.exit` waits for threads, and a thread that hangs in a system call does not end.
    process.kill(process.pid, 'SIGKILL')
  }, deadlineMilliseconds)
}

/** Resolves when every line of the log is written, or cannot be written. */
function logWritten(): Promise<void> {
  return new Promise((resolve) => process.stderr.write('', () => resolve()))
}

/** Waits until no thread is busy with a file or a name server, because the exit of the process would wait for it. */
async function idleThreads(): Promise<void> {
  const isBusy = (): boolean => process.getActiveResourcesInfo().some((one) => /^(FSReq|GetAddrInfoReq)/.test(one))
  while (isBusy()) await delay(pollMilliseconds)
}
