import { pathToFileURL } from 'node:url'
import { combinedHandlers } from '../../adapters/events/combined-handlers.ts'
import { consoleHandlers } from '../../adapters/events/console-handlers.ts'
import { handlerModule } from '../../adapters/events/module/module-handlers.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import type { Shares } from '../../adapters/stores/store-backend.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import { SettingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'

interface Needs {
  readonly log: Logger
  /** Prints a line, which ends in a newline. */
  readonly write: (line: string) => void | Promise<void>
  readonly shares: Shares
  /** `null` for the tenant `default`. */
  readonly tenant: string | null
}

/** Opens the handlers of the settings: a module, the console, both or neither. Tenants share the thread of a module. */
export async function openHandlers(
  { module, console }: Settings['handlers'],
  { log, write, shares, tenant }: Needs,
): Promise<{ eventHandlers: EventHandlers; close: () => Promise<void> }> {
  const leased = module === null ? null : await lease(module, log, shares)
  const printed = console ? consoleHandlers(write, tenant) : null
  const all = [leased?.value.module, printed].filter((one) => one != null)
  return { eventHandlers: combinedHandlers(all), close: async () => leased?.release() }
}

/** Warns about tenants without handlers: their events count as delivered, and no user gets a token. */
export function warnOfNoHandlers(log: Logger, { enabled }: LoadedTenants): void {
  const silent = [...enabled.values()].filter(({ settings: { handlers } }) => !handlers.module && !handlers.console)
  if (silent.length === 0) return
  log.warn(
    { count: silent.length, tenants: silent.slice(0, mostNamed).map(({ id }) => id) },
    'there are no handlers: events are discarded, and nobody gets the tokens of reset and verification',
  )
}

const mostNamed = 20

async function lease(path: string, log: Logger, shares: Shares) {
  const leased = shares.lease(
    `handlers ${path}`,
    () => {
      const module = handlerModule({ url: pathToFileURL(path), log })
      return { module, started: module.start() }
    },
    ({ module }) => module.close(),
  )
  try {
    await leased.value.started
    return leased
  } catch (error) {
    await leased.release()
    throw new SettingsFault([{ path: 'handlers.module', message: reasonOf(error), source: 'default' }])
  }
}

/**
 * Loads each module as the service would, and closes it. Returns the faults by path.
 *
 * @param warn receives the warnings that the service would log
 */
export async function handlerFaults(
  modules: readonly (string | null)[],
  warn: (text: string) => void,
): Promise<Map<string, string>> {
  const faults = new Map<string, string>()
  for (const path of new Set(modules)) {
    if (path === null) continue
    const log = {
      warn: (fields: object, message: string) => warn([path, message, ...Object.values(fields)].join(': ')),
    }
    const module = handlerModule({ url: pathToFileURL(path), log })
    await module.start().catch((error: unknown) => faults.set(path, reasonOf(error)))
    await module.close()
  }
  return faults
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
