import type { HttpBackend } from '../adapters/http/access.ts'
import { enabledOf } from './enabled.ts'
import { build } from './options-part.ts'
import type { Settings } from './settings.ts'
import { type StrategyNeeds, strategies } from './strategies.ts'
import { transports } from './transports.ts'

/** The backends that are enabled, in order of declaration: each a strategy that travels by a transport. */
export function backendsOf(settings: Settings['backends'], needs: StrategyNeeds): HttpBackend[] {
  return enabledOf(settings).map(([name, { transport, strategy, requiresVerification }]) => ({
    name,
    requiresVerification,
    credentials: build(strategies, strategy, needs),
    transport: build(transports, transport, { maxAgeSeconds: strategy.lifetimeSeconds }),
  }))
}
