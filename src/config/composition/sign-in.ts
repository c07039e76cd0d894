import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import { build } from '../plugins/plugin.ts'
import { type StrategyNeeds, strategies } from '../plugins/strategies.ts'
import { transports } from '../plugins/transports.ts'
import { enabledOf } from '../settings/schema/enabled.ts'
import type { Settings } from '../settings/schema/schema.ts'

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
