import type { KeyObject } from 'node:crypto'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import { open, seal } from './sealed-box.ts'

/** @param former keys that open, and seal nothing */
export function providerVault(key: KeyObject, former: readonly KeyObject[] = []): ProviderVault {
  const keys = [key, ...former]
  const binding = (userId: string, provider: string): Buffer => Buffer.from(`${userId} ${provider}`)

  return {
    seal: (token, userId, provider) => seal(key, Buffer.from(token), binding(userId, provider)).toString('base64url'),
    unseal: (sealed, userId, provider) =>
      open(keys, Buffer.from(sealed, 'base64url'), binding(userId, provider))?.toString() ?? null,
  }
}
