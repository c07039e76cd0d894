import { explain } from '../config/explain.ts'
import { createLog, type Logger } from '../config/log.ts'
import { type Service, startService } from '../config/service.ts'
import type { ExitCode } from './exit-code.ts'
import { settingsHere } from './settings.ts'

const deadlineMilliseconds = 9_500

/** Serves until it is told to stop, or cannot go on. */
export async function serve({ configFile }: { configFile: string | undefined }): Promise<ExitCode> {
  const { settings, tenants, warnings } = await settingsHere(configFile)
  const log = createLog(settings.logs)
  for (const warning of warnings) log.warn(warning)

  const ending = endOfProcess(log)
  void ending.reached.then(() => endInTime(log))
  const service = await startService({ settings, tenants, log, write: printLine, failed: ending.failed })
  log.info({ url: service.publicUrl, host: settings.http.host, port: service.port }, 'listening')
  process.stderr.write(`Portcullis listens on ${service.publicUrl}\n`)

  if (tenants !== null) process.on('SIGHUP', () => void reload(configFile, service, log))

  const code = await ending.reached
  await service.stop()
  log.info('stopped')
  await flushed(log)
  return code
}

/** Tenants alone are read again: what belongs to the process needs a new one. */
async function reload(configFile: string | undefined, service: Service, log: Logger): Promise<void> {
  try {
    const { tenants, warnings } = await settingsHere(configFile)
    for (const warning of warnings) log.warn(warning)
    if (tenants === null) return log.error('tenants are gone from the settings: restart to serve without them')
    service.reload(tenants)
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
