import { pathToFileURL } from 'node:url'
import { combinedHandlers } from '../../adapters/events/combined-handlers.ts'
import { consoleHandlers } from '../../adapters/events/console-handlers.ts'
import { type HandlerModuleOptions, handlerModule } from '../../adapters/events/module/module-handlers.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import { openShares, type Shares } from '../../adapters/stores/store-backend.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { SinkName } from '../../application/ports/stores/outbox.ts'
import { orClose } from '../../lib/closing.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import type { LoadedTenants } from '../settings/tenants.ts'
import { type MailNeeds, openMail } from './mail.ts'

interface Needs extends Omit<MailNeeds, 'settings'> {
  readonly log: Logger
  /** Prints a line, which ends in a newline. */
  readonly write: (line: string) => void | Promise<void>
  /** The handlers of a program, in place of those of the settings. */
  readonly own: EventHandlers | undefined
}

/** Opens mail, and the handlers of the program or of the settings. Tenants share the thread of a module. */
export async function openHandlers(settings: Settings, needs: Needs) {
  const { log, write, shares, tenant, own } = needs
  const { module, console } = settings.handlers
  const mail = await openMail({ ...needs, settings })
  const leased =
    module === null || own !== undefined ? null : await orClose(lease(module, log, shares), async () => mail?.close())
  if (leased && losesTokens(settings, leased.value.module)) log.warn({ tenant }, lostTokens)
  const printed = console && own === undefined ? consoleHandlers(write, tenant) : undefined
  const sinks = [
    { name: 'mail', handlers: mail?.eventHandlers },
    { name: 'handlers', handlers: own ?? leased?.value.module },
    { name: 'console', handlers: printed },
  ].flatMap(({ name, handlers }) => (handlers === undefined ? [] : [{ name, handlers }]))
  return {
    /** Each gets the events through a queue of its own. */
    sinks,
    /** All of them, for token requests and questions. */
    eventHandlers: combinedHandlers(sinks.map(({ handlers }) => handlers)),
    mailbox: mail?.mailbox ?? null,
    async close() {
      await Promise.all([mail?.close(), leased?.release()])
    },
  }
}

/** The sinks of a service with these settings. */
export function sinkNamesOf({ handlers, mail }: Settings): ReadonlySet<SinkName> {
  const { module, console } = handlers
  const on = { sessions: true, mail: mail.url !== 'off', handlers: module !== null, console }
  return new Set(Object.entries(on).flatMap(([name, isOn]) => (isOn ? [name] : [])))
}

interface Warnings {
  /** @param fields the number of tenants, and the names of the first ones */
  warn(fields: { readonly count: number; readonly tenants: readonly string[] }, message: string): void
}

/** Warns about tenants without handlers and mail: their events count as delivered, and no user gets a token. */
export function warnOfNoHandlers(log: Warnings, { enabled }: LoadedTenants): void {
  const silent = [...enabled.values()].filter(
    ({ settings: { handlers, mail } }) => !handlers.module && !handlers.console && mail.url === 'off',
  )
  if (silent.length === 0) return
  log.warn(
    { count: silent.length, tenants: silent.slice(0, mostNamed).map(({ id }) => id) },
    'there are no handlers and no mail, so events are discarded and nobody gets tokens: set mail.url or handlers.module',
  )
}

const mostNamed = 20

const lostTokens =
  'the handler module has neither on_after_forgot_password nor on_after_request_verify, and mail.url is off: nobody gets tokens'

/** Whether no link for a reset or a verification reaches a user: without `mail.url`, a module switches the mailbox off. */
function losesTokens({ handlers, mail }: Settings, module: EventHandlers): boolean {
  const sends = module.handles('reset_requested') || module.handles('verification_requested')
  return mail.url === 'off' && !handlers.console && !sends
}

/**
 * Opens the handlers of the module alone.
 *
 * @param warn receives the warnings that the service would log
 */
export async function openModule({ handlers: { module } }: Settings, warn: (text: string) => void) {
  if (module === null) return { eventHandlers: combinedHandlers([]), close: async () => undefined }
  const leased = await lease(module, asText(module, warn), openShares())
  return { eventHandlers: leased.value.module, close: leased.release }
}

async function lease(path: string, log: HandlerModuleOptions['log'], shares: Shares) {
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
    throw settingsFault('handlers.module', reasonOf(error))
  }
}

/**
 * Loads each module as the service would, and closes it. Returns the faults by path.
 *
 * @param warn receives the warnings that the service would log
 */
export async function handlerFaults(
  all: readonly Settings[],
  warn: (text: string) => void,
): Promise<Map<string, string>> {
  const faults = new Map<string, string>()
  for (const path of new Set(all.map(({ handlers }) => handlers.module))) {
    if (path === null) continue
    const module = handlerModule({ url: pathToFileURL(path), log: asText(path, warn) })
    await module.start().catch((error: unknown) => faults.set(path, reasonOf(error)))
    const isLost = all.some((one) => one.handlers.module === path && losesTokens(one, module))
    if (isLost && !faults.has(path)) warn(`${path}: ${lostTokens}`)
    await module.close()
  }
  return faults
}

/** The log of the module at `path` for a command, which prints text. */
function asText(path: string, warn: (text: string) => void): HandlerModuleOptions['log'] {
  return { warn: (fields, message) => warn([path, message, ...Object.values(fields)].join(': ')) }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
