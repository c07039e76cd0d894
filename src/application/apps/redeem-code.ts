import { emailKey } from '../../domain/email.ts'
import { Refusal } from '../../domain/refusal.ts'
import { isAlive } from '../../domain/user.ts'
import type { RequestFacts } from '../event-metadata.ts'
import { noting } from '../explain/note-refused.ts'
import { mustAskFactor } from '../factors/level.ts'
import type { Credential } from '../ports/credentials.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Authenticated, Backend } from '../sign-in/authenticate.ts'
import { type CompleteLoginNeeds, completeLogin, type Granted } from '../sign-in/complete-login.ts'
import { LogOut } from '../sign-in/log-out.ts'
import type { SingleUseNeeds } from '../single-use/single-use-kind.ts'
import { type BoundCode, type CodeLogin, codes, foundBy, unusedCodes, usedCodes } from './app-code.ts'

interface Needs extends CompleteLoginNeeds, Omit<SingleUseNeeds, 'newToken'> {
  users: UserStore
  /** Those whose logins issue codes. */
  backends: readonly Pick<Backend, 'name' | 'credentials'>[]
}

/** The code is unknown, expired or used, or belongs to another app, address or verifier. */
export class AppCodeRefused extends Refusal {
  /** Whether the code was used before, so that the login of its first use has ended. */
  readonly isReplay: boolean
  constructor(isReplay: boolean) {
    super('LOGIN_BAD_CREDENTIALS')
    this.isReplay = isReplay
  }
}

/** Redeems a code for a credential of the app's backend (RFC 6749 section 4.1.3, RFC 7636 section 4.6). */
export class RedeemCode {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * At most one of any number of concurrent callers gets the credential. A second use with the right verifier ends it, also one
   * at the same moment, because somebody else may have the code and the verifier (RFC 6749 section 4.1.2).
   */
  async execute(
    input: RequestFacts & Omit<BoundCode, 'challenge'> & { verifier: string; backend: Backend },
  ): Promise<Granted> {
    const { users, keyRing } = this.#needs
    const { code, app, redirectUri, verifier, backend, requestId, languages } = input
    const bound = { code, app, redirectUri, challenge: keyRing.digest(verifier) } // S256 is this digest
    const open = await codes.use(this.#needs, foundBy(bound))
    if (open === null) throw new AppCodeRefused(await this.#endFirstUse(bound, backend))
    const login = open.content
    const user = await users.find(login.userId)
    const known = { account: user && emailKey(user.email), detail: app }
    // A logout everywhere, a new password or a deactivation may have ended the login since.
    const reason = user?.isActive ? 'login_ended' : 'inactive'
    const alive = await noting(this.#needs, { ...known, reason }, async () => {
      // Nobody could answer the challenge of a user who has got a second factor since, so none is opened.
      const isRefused = user === null || !isAlive(user, login) || mustAskFactor(user, login)
      if (isRefused || (await this.#hasEnded(login))) throw new AppCodeRefused(false)
      return user
    })
    const { methods, traits } = login
    const proof = { methods, provedAt: new Date(login.provedAt), app }
    const request = { traits, requestId, languages, detail: app }
    const result = await completeLogin(this.#needs, { user: alive, backend, ...request, ...proof })
    if (result.type !== 'granted') throw new AppCodeRefused(false)
    const { credential } = result.issued
    return await noting(this.#needs, { ...known, reason: null }, async () => {
      await this.#noteUse(bound, credential)
      // Another use that found no note has taken this record before, and one after this finds the note.
      if ((await unusedCodes.take(this.#needs, foundBy(bound))) !== null) return result
      await this.#logOut({ user: alive, credential, backend })
      throw new AppCodeRefused(true)
    })
  }

  /** Whether the login that issued the code has ended, such as by a logout. */
  async #hasEnded({ backend, expiresAt, provedAt, ...login }: CodeLogin): Promise<boolean> {
    const { backends, clock } = this.#needs
    const issuer = backends.find(({ name }) => name === backend)
    if (issuer === undefined || expiresAt <= clock().getTime()) return true
    const times = { provedAt: new Date(provedAt), expiresAt: new Date(expiresAt) }
    return await issuer.credentials.isEnded({ ...login, ...times })
  }

  async #noteUse(bound: BoundCode, credential: Credential): Promise<void> {
    const { id, userId, generation, sid, provedAt, methods, expiresAt } = credential
    const times = { provedAt: provedAt.getTime(), expiresAt: expiresAt.getTime() }
    await usedCodes.put(this.#needs, foundBy(bound), { id, userId, generation, sid, methods, ...times }, null)
  }

  async #endFirstUse(bound: BoundCode, backend: Backend): Promise<boolean> {
    const isSecond = (await unusedCodes.take(this.#needs, foundBy(bound))) !== null
    const use = (await usedCodes.take(this.#needs, foundBy(bound)))?.content ?? null
    const user = use && (await this.#needs.users.find(use.userId))
    if (use === null || user === null) return isSecond
    const credential = { ...use, provedAt: new Date(use.provedAt), expiresAt: new Date(use.expiresAt) }
    await this.#logOut({ user, credential, backend })
    return true
  }

  async #logOut(login: Authenticated): Promise<void> {
    await new LogOut(this.#needs).execute(login)
  }
}
