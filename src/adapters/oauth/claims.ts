import Type from 'typebox'
import { isTrue, memberAt, type Profile, valueAt } from './identity.ts'

/** The claims of the settings that hold the address, and that say whether the provider vouches for it. */
interface ClaimNames {
  readonly email: string
  readonly emailVerified?: string
}

const claim = { pattern: '^[!-~]+$', expects: 'the name of a claim' }

/** @param standard the claim by which the provider vouches for its claim `email` */
export const claimsOption = (standard: string) =>
  Type.Object({
    email: Type.String({
      ...claim,
      default: 'email',
      description: 'Claim with the address. `emails.0` is the first entry of the list `emails`.',
    }),
    emailVerified: Type.Optional(
      Type.String({
        ...claim,
        otherwise: `\`${standard}\` for the claim \`email\`, none for another one`,
        description: 'Claim that is `true`, `1`, `"1"` or `"true"` if the provider vouches for the address.',
      }),
    ),
  })

/** OpenID Connect Core section 5.1, and Microsoft's "Optional claims reference": both speak of the claim `email`. */
const aboutEmail = ['email_verified', 'xms_edov']

/**
 * The reason why the claim `emailVerified` never vouches for the address; `null` if it may vouch.
 *
 * @param isForMany whether administrators of many tenants fill in the claims
 */
function objectionToVoucher({ email, emailVerified }: Required<ClaimNames>, isForMany: boolean): string | null {
  // OpenID Connect Core section 5.7: it identifies nobody, because users and administrators may change it.
  if (email === 'preferred_username') return 'nobody vouches for preferred_username'
  if (email !== 'email' && aboutEmail.includes(emailVerified)) return `${emailVerified} is about the claim email`
  // A claims mapping policy of a tenant can set any claim, except those that Microsoft restricts.
  if (isForMany && emailVerified !== 'xms_edov') return 'with several tenants, only xms_edov vouches'
  return null
}

/** The warning about a claim in the settings that never vouches. */
export function doubtOfClaims({ email, emailVerified }: ClaimNames, isForMany = false): string | null {
  const objection = emailVerified === undefined ? null : objectionToVoucher({ email, emailVerified }, isForMany)
  return objection === null ? null : `claims.emailVerified has no effect: ${objection} (docs/providers.md)`
}

/** Reads the address from the claims of an ID token or of the user information. */
export function claimsReader({ email, emailVerified: given }: ClaimNames, standard: string) {
  const emailVerified = given ?? standard
  return (claims: unknown, isForMany: boolean): Omit<Profile, 'accountId'> => ({
    email: claimAt(claims, email),
    emailVerified:
      objectionToVoucher({ email, emailVerified }, isForMany) === null && isTrue(claimAt(claims, emailVerified)),
  })
}

/** A claim, or a member of one. The name of a claim may have dots, if it is an address (`https://acme.example/email`). */
function claimAt(claims: unknown, name: string): unknown {
  return memberAt(claims, [name]) ?? valueAt(claims, name)
}
