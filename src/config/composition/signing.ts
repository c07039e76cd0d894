import { chosenAlgorithms } from '../../adapters/credentials/signing/options.ts'
import { type SigningKeys, signingKeys } from '../../adapters/credentials/signing/signing-keys.ts'
import type { DerivedKeys } from '../../adapters/crypto/derived-keys.ts'
import type { TenantTexts } from '../../application/ports/stores/tenant-texts.ts'
import type { Settings } from '../settings/schema/schema.ts'

interface Needs {
  readonly tenantTexts: TenantTexts
  readonly keyRing: DerivedKeys
  readonly clock: () => Date
  readonly added: Parameters<typeof signingKeys>[0]['added']
}

/** The pairs of keys with which the backends of a tenant sign. */
export function signingKeysOf(settings: Settings, { tenantTexts, keyRing, clock, added }: Needs): SigningKeys {
  return signingKeys({
    ...chosenAlgorithms(settings),
    ...settings.keys,
    texts: tenantTexts,
    seal: keyRing.sealSigningKey,
    unseal: keyRing.unsealSigningKey,
    clock,
    added,
  })
}
