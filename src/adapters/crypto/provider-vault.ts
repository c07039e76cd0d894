import type { KeyObject } from 'node:crypto'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import { open, seal } from './sealed-box.ts'

/** AES-256-GCM with one key. */
export function providerVault(key: KeyObject): ProviderVault {
  const binding = (userId: string, provider: string): Buffer => Buffer.from(`${userId} ${provider}`)

  return {
    seal: (token, userId, provider) => seal(key, Buffer.from(token), binding(userId, provider)).toString('base64url'),
    unseal: (sealed, userId, provider) =>
      open(key, Buffer.from(sealed, 'base64url'), binding(userId, provider))?.toString() ?? null,
  }
}
