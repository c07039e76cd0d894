import { pathToFileURL } from 'node:url'
import { combinedHandlers } from '../adapters/events/combined-handlers.ts'
import { consoleHandlers } from '../adapters/events/console-handlers.ts'
import { functionHandlers } from '../adapters/events/function-handlers.ts'
import { type HandlerModule, handlerModule } from '../adapters/events/handler-module.ts'
import type { Subscribers } from '../application/ports/subscribers.ts'
import type { Logger } from './log.ts'
import type { Settings } from './settings.ts'
import { SettingsFault } from './settings-fault.ts'

export interface OpenHandlers {
  readonly subscribers: Subscribers
  close(): Promise<void>
}

/** The deployer's handlers: the module, the console, both or neither. */
export async function openHandlers(
  { module, console }: Settings['handlers'],
  log: Logger,
  write: (line: string) => void | Promise<void>,
): Promise<OpenHandlers> {
  const loaded = module === null ? null : await load(module, log)
  const printed = console ? consoleHandlers(write) : null
  const subscribers =
    loaded !== null && printed !== null
      ? combinedHandlers(loaded, printed)
      : (loaded ?? printed ?? functionHandlers({}))
  return { subscribers, close: async () => loaded?.close() }
}

async function load(path: string, log: Logger): Promise<HandlerModule> {
  const module = handlerModule({ url: pathToFileURL(path), log })
  try {
    await module.start()
    return module
  } catch (error) {
    await module.close()
    const message = error instanceof Error ? error.message : String(error)
    throw new SettingsFault([{ path: 'handlers.module', message, source: 'default' }])
  }
}
