import type { StoreBackend } from '../adapters/stores/backend.ts'
import type { OptionsPart } from './options-part.ts'
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
  backendOperations,
  serviceOperations: ['GET /healthz', 'GET /readyz', 'GET /openapi.json', 'GET /docs'],
} as const satisfies Parts
