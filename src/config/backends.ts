import type { HttpBackend } from '../adapters/http/access.ts'
import { enabledOf } from './enabled.ts'
import { build } from './options-part.ts'
import type { Settings } from './settings.ts'
import { type StrategyNeeds, strategies } from './strategies.ts'
import { transports } from './transports.ts'

/** Where the routes of a backend are, by its name in the settings. */
export function prefixOf({ backends }: Pick<Settings, 'backends'>, name: string): string {
  const backend = backends[name]
  if (backend === undefined) throw new Error(`there is no backend ${name}`)
  return backend.prefix
}

/** The backends that are enabled, in order of declaration: each a strategy that travels by a transport. */
export function backendsOf(settings: Settings['backends'], needs: StrategyNeeds): HttpBackend[] {
  return enabledOf(settings).map(([name, { transport, strategy, requiresVerification }]) => ({
    name,
    requiresVerification,
    credentials: build(strategies, strategy, needs),
    transport: build(transports, transport, { maxAgeSeconds: strategy.lifetimeSeconds }),
  }))
}
