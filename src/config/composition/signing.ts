import { chosenAlgorithms } from '../../adapters/credentials/signing/options.ts'
import { type SigningKeys, signingKeys } from '../../adapters/credentials/signing/signing-keys.ts'
import type { DerivedKeys } from '../../adapters/crypto/derived-keys.ts'
import type { SecretMark } from '../../application/ports/stores/secret-mark.ts'
import type { Settings } from '../settings/schema/schema.ts'

interface Needs {
  readonly secretMark: SecretMark
  readonly keyRing: DerivedKeys
  readonly clock: () => Date
  readonly added: Parameters<typeof signingKeys>[0]['added']
}

/** The pairs of keys with which the backends of a tenant sign. */
export function signingKeysOf(settings: Settings, { secretMark, keyRing, clock, added }: Needs): SigningKeys {
  return signingKeys({
    ...chosenAlgorithms(settings),
    ...settings.keys,
    marks: secretMark,
    seal: keyRing.sealSigningKey,
    unseal: keyRing.unsealSigningKey,
    clock,
    added,
  })
}
