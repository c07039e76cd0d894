import Type from 'typebox'
import { type KeyAlgorithm, keyAlgorithms } from './algorithms.ts'

/** HMAC with a key that no other service has, or a pair of keys, whose public key any service may have. */
export type JwtAlgorithm = 'HS256' | KeyAlgorithm

/** The setting of a JWT backend. */
export const algorithmOption = Type.Optional(
  Type.Enum(['HS256', ...keyAlgorithms], {
    otherwise: '`HS256`; in the profile `hardened` `EdDSA`, unless an older release has opened the data',
    description:
      'Algorithm that signs new tokens. Other services can verify tokens of `EdDSA`, `ES256` and `RS256` by the keys at `/.well-known/jwks.json` (`docs/keys.md`).',
  }),
)

/** The settings of `signingKeys`. */
export const keyOptions = {
  cacheSeconds: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 600,
    description:
      'Time for which other services may keep the public keys. A new key signs no token before every such copy has it.',
  }),
  rotateDays: Type.Integer({
    minimum: 0,
    maximum: 3650,
    default: 90,
    description: 'Age at which a signing key gets a successor. `0`: only `portcullis keys rotate` makes one.',
  }),
}

interface Strategies {
  readonly backends: Readonly<
    Record<
      string,
      {
        readonly enabled: boolean
        readonly strategy: {
          readonly kind: string
          readonly algorithm?: JwtAlgorithm | undefined
          readonly lifetimeSeconds: number
        }
      }
    >
  >
  readonly security: { readonly profile?: 'compatible' | 'hardened' | undefined }
}

/** The algorithm of JWTs without the setting. Data that an older release has opened keep HS256 all the same. */
export function usualAlgorithm({ security }: Pick<Strategies, 'security'>): JwtAlgorithm {
  return security.profile === 'hardened' ? 'EdDSA' : 'HS256'
}

/** The algorithms with pairs of keys that the enabled backends have. */
export function chosenAlgorithms(settings: Strategies) {
  const all = Object.values(settings.backends).filter(({ enabled, strategy }) => enabled && strategy.kind === 'jwt')
  const strategies = all.map(({ strategy }) => strategy)
  const given = new Set(strategies.flatMap(({ algorithm = 'HS256' }) => (algorithm === 'HS256' ? [] : [algorithm])))
  const usual = usualAlgorithm(settings)
  const isUsual = strategies.some(({ algorithm }) => algorithm === undefined)
  return {
    wanted: [...given],
    wantedIfNew: isUsual && usual !== 'HS256' ? usual : null,
    tokenSeconds: Math.max(0, ...strategies.map(({ lifetimeSeconds }) => lifetimeSeconds)),
  }
}

/** Whether a backend may sign with a pair of keys. */
export function mayPublishKeys(settings: Strategies): boolean {
  const { wanted, wantedIfNew } = chosenAlgorithms(settings)
  return wanted.length > 0 || wantedIfNew !== null
}
