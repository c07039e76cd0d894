import { type Email, emailKey } from '../../domain/email.ts'
import { happened } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { demandText } from '../../domain/invalid-input.ts'
import { accountOf, isVouchedFor, type OAuthIdentity, withAccount } from '../../domain/oauth-account.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { newUser, type User } from '../../domain/user.ts'
import type { Change } from '../change-user.ts'
import { occasion } from '../event-metadata.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { OAuthStateStore } from '../ports/stores/oauth-state-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from '../sign-in/authenticate.ts'
import { type AdmitNeeds, admit } from '../sign-in/issue-credential.ts'
import { sealedAccount } from './link-account.ts'
import { linkEvent } from './link-event.ts'
import { type Claim, identityOf, type Return } from './redeem-return.ts'
import { takeOver } from './take-over.ts'

interface Needs extends AdmitNeeds {
  users: UserStore
  oauthStates: OAuthStateStore
  keyRing: KeyRing
  vault: ProviderVault
}

/** What the deployer allows a provider's word to do. */
export interface OAuthPolicy {
  /** Link to the user with the same address, where the provider vouches for it and the user's own is verified. */
  readonly associateByEmail: boolean
  /** New users count as verified, where the provider vouches for the address. */
  readonly verifiedByDefault: boolean
  readonly requiresVerification: boolean
}

const maxAttempts = 5

/** Logs in whoever comes back from a provider: a linked user, one to be linked by address, or a new one. */
export class FinishOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(input: {
    back: Return
    claim: Omit<Claim, 'flow' | 'by'>
    policy: OAuthPolicy
    backend: Backend
    requestId: string
  }): Promise<string> {
    const { back, claim, policy, backend, requestId } = input
    demandText('requestId', requestId)
    const identity = await identityOf(this.#needs, back, { ...claim, flow: 'login', by: null })
    const user = await this.#userOf(identity, claim.provider.name, policy, requestId)

    if (!user.isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
    if ((policy.requiresVerification || backend.requiresVerification) && !user.isVerified) {
      throw new Refusal('LOGIN_USER_NOT_VERIFIED')
    }
    return await admit(this.#needs, user, backend, requestId)
  }

  /** Judged anew when somebody else was faster: two first logins of one identity make one user. */
  async #userOf(identity: OAuthIdentity, provider: string, policy: OAuthPolicy, requestId: string): Promise<User> {
    const { users } = this.#needs
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const linked = await users.findByOAuthAccount(provider, identity.accountId)
      if (linked !== null) {
        const renewed = await this.#renew(linked, provider, identity, requestId)
        if (renewed !== null) return renewed
        continue
      }
      if (identity.email === null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')
      const same = await users.findByEmail(emailKey(identity.email))
      const user =
        same === null
          ? await this.#create(identity, identity.email, provider, policy, requestId)
          : await this.#associate(same, identity, identity.email, provider, policy, requestId)
      if (user !== null) return user
    }
    throw new Unavailable('an account that others change all the time')
  }

  async #renew(
    { id, isActive }: User,
    provider: string,
    identity: OAuthIdentity,
    requestId: string,
  ): Promise<User | null> {
    if (!isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
    const outcome = await this.#needs.changeUser.execute(id, (fresh) => {
      if (accountOf(fresh, provider, identity.accountId) === null) return { type: 'keep' }
      return this.#linked(fresh, provider, identity, requestId)
    })
    if (outcome.type !== 'changed') return null
    return accountOf(outcome.user, provider, identity.accountId) === null ? null : outcome.user
  }

  async #create(
    identity: OAuthIdentity,
    email: Email,
    provider: string,
    policy: OAuthPolicy,
    requestId: string,
  ): Promise<User | null> {
    const { users, newId, clock } = this.#needs
    const bare = newUser(newId() as UserId, email, null, clock()) // safe: `newId` promises a UUID
    const isVerified = policy.verifiedByDefault && identity.isEmailVerified
    const isOwnerProved = identity.isEmailVerified
    const user = withAccount(
      { ...bare, isVerified, isOwnerProved },
      sealedAccount(this.#needs, bare, provider, identity),
    )
    const outcome = await users.insert(user, [happened('registered', user, occasion(this.#needs, requestId))])
    return outcome === 'stored' ? user : null
  }

  /**
   * Only where both sides have proved the address: otherwise whoever claims somebody's address first, here or at
   * the provider, would share the account with its owner (CVE-2026-53516, CVE-2024-38351).
   */
  async #associate(
    { id }: User,
    identity: OAuthIdentity,
    email: Email,
    provider: string,
    policy: OAuthPolicy,
    requestId: string,
  ): Promise<User | null> {
    const outcome = await this.#needs.changeUser.execute(id, (fresh) => {
      // A login that was faster may have made this user, after we looked for the account and before we looked for the
      // address.
      const isLinked = accountOf(fresh, provider, identity.accountId) !== null
      const isProved = policy.associateByEmail && identity.isEmailVerified && fresh.isVerified
      const isTheirs = isProved && emailKey(fresh.email) === emailKey(email)
      if (!isLinked && !isTheirs) throw new Refusal('OAUTH_USER_ALREADY_EXISTS')
      if (!fresh.isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
      return this.#linked(fresh, provider, identity, requestId)
    })
    return outcome.type === 'changed' ? outcome.user : null
  }

  /** Makes or renews the link. The owner of the address takes the account over, unless it counts as theirs already. */
  #linked(fresh: User, provider: string, identity: OAuthIdentity, requestId: string): Change {
    const account = sealedAccount(this.#needs, fresh, provider, identity)
    const isNew = accountOf(fresh, provider, identity.accountId) === null
    const linked = withAccount(fresh, account)
    const isTakenOver = !fresh.isOwnerProved && isVouchedFor(account, fresh)
    const { user, events } = isTakenOver ? takeOver(this.#needs, requestId, linked) : { user: linked, events: [] }
    const made = isNew ? [linkEvent(this.#needs, requestId, user, 'oauthLinked', account)] : []
    return { type: 'replace', user, events: [...events, ...made] }
  }
}
