import type { StoreBackend } from '../../adapters/stores/store-backend.ts'
import type { OptionsPart } from './plugin.ts'
import { providers } from './providers.ts'
import { backendOperations, type RouterPart, routers } from './routers.ts'
import { stores } from './stores.ts'
import { strategies } from './strategies.ts'
import { transports } from './transports.ts'

/** What the settings need to know of a store. */
export type StoreKind = Omit<StoreBackend, 'open'>

/** Everything that can be plugged in. The schema of the settings follows from it. */
export interface Parts {
  readonly storeKinds: readonly StoreKind[]
  readonly transports: readonly OptionsPart[]
  readonly strategies: readonly OptionsPart[]
  readonly routers: readonly RouterPart[]
  readonly providers: readonly OptionsPart[]
  /** Operations of the two routers that every provider has. */
  readonly providerOperations: readonly string[]
  readonly associateOperations: readonly string[]
  /** Operations of the router that every backend has. */
  readonly backendOperations: readonly string[]
  /** Operations outside all routers, whose paths nobody else may claim. */
  readonly serviceOperations: readonly string[]
}

/** What Portcullis brings along. */
export const builtInParts = {
  storeKinds: stores,
  transports,
  strategies,
  routers,
  providers,
  backendOperations,
  providerOperations: ['GET /authorize', 'GET /callback', 'POST /callback'],
  associateOperations: ['GET /authorize', 'GET /callback', 'POST /callback', 'DELETE /:id'],
  serviceOperations: ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs', 'GET /try'],
} as const satisfies Parts
