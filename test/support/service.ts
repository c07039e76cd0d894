import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DestinationStream } from 'pino'
import { loadSettings } from '../../src/config/load.ts'
import { createLog } from '../../src/config/log.ts'
import { startService } from '../../src/config/service.ts'
import { forgetDocument } from './described.ts'

/** One line of `handlers.console`. */
export interface PrintedEvent {
  readonly event: string
  readonly user: { readonly id: string; readonly email: string }
  readonly token?: string
  readonly changes?: Readonly<Record<string, unknown>>
}

export interface TestService {
  readonly url: string
  readonly dataFolder: string
  /** Everything that handlers.console has printed. */
  readonly events: readonly PrintedEvent[]
  /** Everything that was logged. */
  readonly logLines: readonly string[]
  /** Waits for an event that satisfies `wanted`; rejects after `seconds`. */
  event(wanted: (event: PrintedEvent) => boolean, seconds?: number): Promise<PrintedEvent>
  stop(): Promise<void>
}

/**
 * The whole service in this process, on a free port, with scratch data. Settings are given as environment
 * variables, e.g. `{ PORTCULLIS_STORES__USERS__KIND: 'memory' }`.
 */
export async function startTestService(
  env: Readonly<Record<string, string>> = {},
  options: { clock?: () => Date; dataFolder?: string } = {},
): Promise<TestService> {
  const scratch = await mkdtemp(join(tmpdir(), 'portcullis-'))
  const dataFolder = options.dataFolder ?? join(scratch, 'data')
  const { settings } = await loadSettings({
    cwd: scratch,
    env: {
      PORTCULLIS_HTTP__PORT: '0',
      PORTCULLIS_DATA_FOLDER: dataFolder,
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
      ...env,
    },
  })
  const logLines: string[] = []
  const events: PrintedEvent[] = []
  const waiting = new Set<() => void>()
  const lines: DestinationStream = { write: (line) => void logLines.push(line) }

  const service = await startService({
    settings,
    log: createLog(settings.logs, lines),
    strict: true,
    failed: (fault) => logLines.push(`failed: ${String(fault)}`),
    write(line) {
      events.push(JSON.parse(line))
      for (const look of waiting) look()
    },
    ...(options.clock && { clock: options.clock }),
  })

  const url = `http://localhost:${service.port}`
  forgetDocument(url)
  return {
    url,
    dataFolder,
    events,
    logLines,
    event(wanted, seconds = 5) {
      return new Promise((resolve, reject) => {
        const end = (): void => {
          clearTimeout(timer)
          waiting.delete(look)
        }
        const look = (): void => {
          const found = events.find(wanted)
          if (found === undefined) return
          end()
          resolve(found)
        }
        const timer = setTimeout(() => {
          end()
          reject(new Error(`no such event within ${seconds} s`))
        }, seconds * 1000)
        waiting.add(look)
        look()
      })
    },
    async stop() {
      await service.stop()
      await rm(scratch, { recursive: true, force: true })
    },
  }
}
