import type { UserId } from '../../domain/ids.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { FactorCodes } from '../ports/factor-codes.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import { requireRight } from '../rights.ts'
import type { Authenticated } from '../sign-in/authenticate.ts'
import type { FreshLoginNeeds } from '../sign-in/fresh-login.ts'

interface Needs extends FreshLoginNeeds {
  keyRing: Pick<KeyRing, 'sealFactor'>
  factorCodes: FactorCodes
}

/** A secret that is not stored yet. */
export interface TotpSetup {
  /** In base32, for people who type it. */
  readonly secret: string
  /** The `otpauth:` address for a QR code. */
  readonly address: string
  /** The secret sealed for this user, which `ConfirmTotp` takes back. */
  readonly setup: string
}

/** The content of `TotpSetup.setup`. */
export interface SealedSetup {
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

const setupSeconds = 900

/** The text to which `TotpSetup.setup` is bound, so that it opens for its user alone. */
export const setupBinding = (id: UserId): string => `totp setup of ${id}`

/** Makes a secret for an authenticator app. Nothing is stored before a code proves that the app has it. */
export class BeginTotp {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute({ by }: { by: Authenticated }): Promise<TotpSetup> {
    const { keyRing, factorCodes, clock } = this.#needs
    const { user } = by
    requireRight(this.#needs, by, 'change_factors', user)
    if (user.factors.totp !== null) throw new Refusal('FACTOR_ALREADY_EXISTS')
    const secret = factorCodes.newTotpSecret()
    const content: SealedSetup = { secret, expiresAt: clock().getTime() + setupSeconds * 1000 }
    const setup = keyRing.sealFactor(JSON.stringify(content), setupBinding(user.id))
    return { secret, address: await factorCodes.totpAddress(secret, user.email), setup }
  }
}
