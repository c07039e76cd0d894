import { explain } from '../config/explain.ts'
import type { LoadedSettings } from '../config/load.ts'
import type { LoadedTenants } from '../config/load-tenants.ts'
import { createLog, type Logger } from '../config/log.ts'
import type { ExitCode } from './exit-code.ts'
import { only, settingsHere } from './settings.ts'

export interface Options {
  configFile: string | undefined
  /** The only one to serve, of several. */
  tenant: string | undefined
}

/** What runs until it is told to stop. */
export interface LongRunning {
  /** Takes up changed settings of tenants. */
  reload(tenants: LoadedTenants): void
  stop(): Promise<void>
}

type Begin = (
  needs: LoadedSettings & {
    readonly log: Logger
    readonly write: (line: string) => Promise<void>
    readonly failed: (fault: unknown) => void
  },
) => Promise<LongRunning>

const deadlineMilliseconds = 9_500

/** Runs until a signal or a fault ends it. SIGHUP makes it read its tenants again. */
export async function runUntilTold({ configFile, tenant }: Options, begin: Begin): Promise<ExitCode> {
  const given = await settingsHere(configFile)
  const loaded = { ...given, tenants: only(given.tenants, tenant) }
  const log = createLog(loaded.settings.logs)
  for (const warning of loaded.warnings) log.warn(warning)

  const ending = endOfProcess(log)
  void ending.reached.then(() => endInTime(log))
  const running = await begin({ ...loaded, log, write: printLine, failed: ending.failed })
  if (loaded.tenants !== null) process.on('SIGHUP', () => void reload({ configFile, tenant }, running, log))

  const code = await ending.reached
  await running.stop()
  log.info('stopped')
  await flushed(log)
  return code
}

/** Tenants alone are read again: what belongs to the process needs a new one. */
async function reload({ configFile, tenant }: Options, running: LongRunning, log: Logger): Promise<void> {
  try {
    const { tenants: all, warnings } = await settingsHere(configFile)
    const tenants = only(all, tenant)
    for (const warning of warnings) log.warn(warning)
    if (tenants === null) return log.error('tenants are gone from the settings: restart to go on without them')
    running.reload(tenants)
    log.info({ enabled: tenants.enabled.size, disabled: tenants.disabled.size }, 'read the tenants again')
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
  process.stdout.on('error', (err) => log.error({ err }, 'standard output is closed'))
  process.on('unhandledRejection', crashed)
  process.on('uncaughtException', crashed)
  return { reached, failed }
}

/** However far the start or the stop has come: whoever sent the signal does not wait for longer. */
function endInTime(log: Logger): void {
  setTimeout(() => {
    log.error('stopping took too long')
    log.flush()
    process.exit(1)
  }, deadlineMilliseconds)
}

function flushed(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}

/** Rejects when nobody reads any more: the event then waits for the next start. */
function printLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(line, (error) => (error ? reject(error) : resolve()))
  })
}
