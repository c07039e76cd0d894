import { jwtCredentials } from '../adapters/credentials/jwt.ts'
import { storedCredentials } from '../adapters/credentials/stored.ts'
import { type NodeSecrets, newToken } from '../adapters/crypto/node-secrets.ts'
import type { HttpBackend } from '../adapters/http/access.ts'
import { bearerTransport } from '../adapters/http/transports/bearer.ts'
import { cookieTransport } from '../adapters/http/transports/cookie.ts'
import type { Transport } from '../adapters/http/transports/transport.ts'
import type { Credentials } from '../application/ports/credentials.ts'
import type { SessionStore } from '../application/ports/session-store.ts'
import type { BackendSettings, Settings, StrategySettings } from './settings.ts'

interface Needs {
  readonly sessions: SessionStore
  readonly secrets: NodeSecrets
  readonly tenant: string
  readonly clock: () => Date
  readonly newId: () => string
}

/** The backends that are enabled, in order of declaration. */
export function backendsOf(settings: Settings['backends'], needs: Needs): HttpBackend[] {
  return Object.entries(settings)
    .filter(([, { enabled }]) => enabled)
    .map(([name, backend]) => ({
      name,
      requiresVerification: backend.requiresVerification,
      credentials: credentialsOf(backend.strategy, needs),
      transport: transportOf(backend),
    }))
}

function transportOf({ transport, strategy }: BackendSettings): Transport {
  switch (transport.kind) {
    case 'bearer':
      return bearerTransport
    case 'cookie': {
      const { kind: _, ...attributes } = transport
      return cookieTransport({ ...attributes, maxAgeSeconds: strategy.lifetimeSeconds })
    }
  }
}

function credentialsOf(strategy: StrategySettings, needs: Needs): Credentials {
  const { sessions, secrets, tenant, clock, newId } = needs
  switch (strategy.kind) {
    case 'jwt':
      return jwtCredentials({ ...strategy, key: secrets.jwtKey(), tenant, clock, newId })
    case 'stored':
      return storedCredentials({ ...strategy, sessions, digest: secrets.digest, newToken, clock })
  }
}
