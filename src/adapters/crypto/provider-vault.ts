import { createHash, type KeyObject } from 'node:crypto'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import { open, seal } from './sealed-box.ts'

/** AES-256-GCM with one key. The id of the key precedes the sealed box: `<key id>.<nonce, text and tag>`. */
export function providerVault(key: KeyObject): ProviderVault {
  const keyId = createHash('sha256').update('portcullis key id').update(key.export()).digest('base64url').slice(0, 8)
  const binding = (userId: string, provider: string): Buffer => Buffer.from(`${userId} ${provider}`)

  return {
    seal: (token, userId, provider) =>
      `${keyId}.${seal(key, Buffer.from(token), binding(userId, provider)).toString('base64url')}`,
    unseal(sealed, userId, provider) {
      const [id, box = ''] = sealed.split('.')
      if (id !== keyId) return null
      return open(key, Buffer.from(box, 'base64url'), binding(userId, provider))?.toString() ?? null
    },
  }
}
