import { emailKey } from '../../domain/email.ts'
import type { User } from '../../domain/user.ts'
import type { DeviceTokens } from '../ports/device-tokens.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'

interface Needs {
  expiringMarks: Pick<ExpiringMarks, 'add' | 'has'>
  deviceTokens: Pick<DeviceTokens, 'idOf'>
  keyRing: Pick<KeyRing, 'digest'>
  clock: () => Date
  /** 0: no browser is trusted. */
  trustedBrowserDays: number
}

/**
 * The browsers in which a login asks for no second factor for a time, because the user wanted it so in a login with one. A browser is known
 * by its device token, and the store has a record of it.
 */
export class TrustedBrowsers {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** @param device the device token of the browser; `null` without one */
  async isTrusted(user: User, device: string | null): Promise<boolean> {
    const { expiringMarks, trustedBrowserDays } = this.#needs
    const id = trustedBrowserDays === 0 || device === null ? null : this.#idOf(user, device)
    return id !== null && (await expiringMarks.has(id))
  }

  /** @param device the device token that the browser gets with this login */
  async trust(user: User, device: string): Promise<void> {
    const { expiringMarks, clock, trustedBrowserDays } = this.#needs
    const id = this.#idOf(user, device)
    if (trustedBrowserDays === 0 || id === null) return
    await expiringMarks.add(id, new Date(clock().getTime() + trustedBrowserDays * 86_400_000))
  }

  /**
   * With the generation and the factors in it, a reset, a new password, a logout everywhere and another factor end the trust.
   * `null`: the token is not one of this account.
   */
  #idOf({ id, email, sessions, factors }: User, device: string): string | null {
    const { deviceTokens, keyRing } = this.#needs
    const deviceId = deviceTokens.idOf(device, emailKey(email))
    if (deviceId === null) return null
    const present = [factors.totp?.addedAt, ...factors.passkeys.map((one) => one.id)]
    return `trusted-browser:${keyRing.digest(JSON.stringify([id, deviceId, sessions.generation, present]))}`
  }
}
