import type { Passkey } from '../../domain/factors.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { PasskeyVerifier } from '../ports/passkey-verifier.ts'
import { requireRight } from '../rights.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'
import type { PasskeyChallenges } from './passkey-challenges.ts'

/** The most passkeys of a user. */
export const mostPasskeys = 20

interface Needs extends FreshLoginNeeds {
  passkeyChallenges: PasskeyChallenges
  passkeys: PasskeyVerifier
  /** 43 characters, 256 random bits. */
  newToken: () => string
}

/** The data with which the browser makes a passkey. */
export interface PasskeyOffer {
  readonly challenge: string
  readonly rpId: string
  /** The random text by which the passkey will name the user. */
  readonly handle: string
  /** The present passkeys, so that no authenticator gets a second one. */
  readonly present: readonly Passkey[]
}

/** Begins to add a passkey. Nothing is stored before the authenticator has answered. */
export class BeginPasskey {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param input.client `null` if unknown */
  async execute({ by, client }: { by: Authenticated; client: string | null }): Promise<PasskeyOffer> {
    const { passkeyChallenges, passkeys, newToken } = this.#needs
    const { user, credential } = by
    requireRight(this.#needs, by, 'change_factors', user)
    const { rpId } = passkeys
    if (rpId === null) throw new Refusal('PASSKEYS_NOT_AVAILABLE')
    const { passkeys: present, passkeyHandle } = user.factors
    if (present.length >= mostPasskeys) throw new Refusal('FACTOR_ALREADY_EXISTS')
    const enrolment = { userId: user.id, sid: credential.sid }
    // Authenticators return the bytes, so the text must be the base64url of whole bytes.
    const handle = passkeyHandle ?? newToken()
    return { challenge: await passkeyChallenges.open(enrolment, client, handle), rpId, handle, present }
  }
}
