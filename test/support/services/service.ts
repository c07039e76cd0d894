import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DestinationStream } from 'pino'
import { createLog } from '../../../src/adapters/logging/log.ts'
import { startService } from '../../../src/config/runtime/service.ts'
import { type LoadedSettings, loadSettings } from '../../../src/config/settings/load.ts'
import { defaultTenant } from '../../../src/config/settings/tenants.ts'
import { eventually } from '../eventually.ts'
import { forgetDocument, isDescribedAt } from '../http/described.ts'
import { idsOfTests } from '../mocha/long.ts'
import { type PrintedEvent, scratchFolder } from './spawned-service.ts'

export interface TestService {
  readonly url: string
  /** Where a tenant is served, of tenants that are told by path. */
  urlOf(tenant: string): string
  readonly dataFolder: string
  /** The address of the mailbox with its key, where there is one. */
  readonly mailboxUrl: string | null
  /** Everything that handlers.console has printed. */
  readonly events: readonly PrintedEvent[]
  /** Everything that was logged. */
  readonly logLines: readonly string[]
  /** Waits for an event that satisfies `wanted`. */
  event(wanted: (event: PrintedEvent) => boolean): Promise<PrintedEvent>
  /** Writes these files as `Files` says and takes up what they say of tenants, as on SIGHUP. */
  reload(files: Files): Promise<void>
  stop(): Promise<void>
}

/** Content by name. `portcullis.config.json` holds the settings; others may be files of tenants. */
export type Files = Readonly<Record<string, object | string>>

/**
 * The whole service in this process, on a free port, with scratch data. Settings are given as environment
 * variables, e.g. `{ PORTCULLIS_STORES__USERS__KIND: 'memory' }`.
 */
export async function startTestService(
  env: Readonly<Record<string, string>> = {},
  options: { clock?: () => Date; dataFolder?: string; files?: Files; drained?: () => Promise<unknown> } = {},
): Promise<TestService> {
  const scratch = scratchFolder()
  const dataFolder = options.dataFolder ?? join(scratch, 'data')
  const settingsNow = async (files: Files): Promise<LoadedSettings> => {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(scratch, name)), { recursive: true })
      await writeFile(join(scratch, name), typeof content === 'string' ? content : JSON.stringify(content))
    }
    const usual = {
      PORTCULLIS_HTTP__PORT: '0',
      PORTCULLIS_DATA_FOLDER: dataFolder,
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
      PORTCULLIS_MAIL__URL: 'off',
      ...idsOfTests,
    }
    return loadSettings({ cwd: scratch, env: { ...usual, ...env } })
  }
  const { settings, tenants } = await settingsNow(options.files ?? {})
  const logLines: string[] = []
  const events: PrintedEvent[] = []
  const lines: DestinationStream = { write: (line) => void logLines.push(line) }

  const service = await startService({
    settings,
    tenants,
    log: createLog(settings.logs, lines),
    drained: options.drained ?? (async () => undefined),
    failed: (fault) => logLines.push(`failed: ${String(fault)}`),
    write: (line) => void events.push(JSON.parse(line)),
    ...(options.clock && { clock: options.clock }),
  })

  const url = `http://localhost:${service.port}`
  forgetDocument(url)
  return {
    url,
    urlOf(tenant) {
      const own = `${url}${settings.tenants.pathPrefix}/${tenant}`
      isDescribedAt(own, url)
      return own
    },
    dataFolder,
    mailboxUrl: service.addresses.find(({ id }) => id === defaultTenant)?.mailboxUrl ?? null,
    events,
    logLines,
    event: (wanted) => eventually('such an event', () => events.find(wanted)),
    async reload(files) {
      const { tenants } = await settingsNow(files)
      await service.reload(tenants)
    },
    async stop() {
      await service.stop()
      await rm(scratch, { recursive: true, force: true })
    },
  }
}
