import type { Actor } from '../../domain/actor.ts'
import { type Email, emailKey, objectionToNewAddress } from '../../domain/email.ts'
import { updatedEvent } from '../../domain/events.ts'
import { twoFactors } from '../../domain/factors.ts'
import type { GivenFields } from '../../domain/field-types.ts'
import { checkFields, doors, faultOfBytes, newFields, noFieldRules } from '../../domain/fields.ts'
import type { NewId, UserId } from '../../domain/ids.ts'
import { accountOf, isVouchedFor, linkOf, withAccount } from '../../domain/linked-accounts.ts'
import type { OAuthIdentity } from '../../domain/oauth-account.ts'
import { Refusal, Unavailable } from '../../domain/refusal.ts'
import { newUser, type User } from '../../domain/user.ts'
import { unique } from '../../domain/user-record.ts'
import type { FieldNeeds } from '../accounts/own-fields.ts'
import { type RegistrationNeeds, registrationEvents } from '../accounts/registration-events.ts'
import type { Change } from '../change-user.ts'
import { eventMetadata, type RequestFacts, requestFacts } from '../event-metadata.ts'
import { noted, noting } from '../explain/note-refused.ts'
import type { Limits } from '../limits/limits.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Backend } from '../sign-in/authenticate.ts'
import {
  type CompleteLoginNeeds,
  completeLogin,
  type LoginClient,
  type LoginResult,
} from '../sign-in/complete-login.ts'
import { takenField } from '../taken-field.ts'
import { type Arrival, type AuthorizationResponse, identityOf, type ReturnNeeds } from './redeem-return.ts'
import { sealedAccount } from './sealed-account.ts'
import { takeOver } from './take-over.ts'

interface Needs extends CompleteLoginNeeds, ReturnNeeds, RegistrationNeeds, FieldNeeds {
  limits: CompleteLoginNeeds['limits'] & Pick<Limits, 'maySendToken'>
  users: UserStore
  newId: () => NewId
  /** Makes the id of a new user; by default `newId` does. */
  newUserId?: () => Promise<UserId>
  vault: ProviderVault
  /** Called after a new user was written, so that its event need not wait for the relay's next poll. Must not throw. */
  wakeRelay?: () => void
  /** Called with the names of fields that a new user does not get from a provider. Must not throw. */
  warnOfProviderFields?: (unfit: ProviderFields) => void
}

/** Values of a provider that do not fit the declared fields, or that another user has. */
export interface ProviderFields {
  readonly provider: string
  readonly fields: readonly string[]
  readonly requestId: string
}

/** The deployer's trust in a provider. */
export interface OAuthPolicy {
  /** Link the account to the user with the same address, if both the provider and we have verified it. */
  readonly associateByEmail: boolean
  /** New users count as verified if the provider vouches for the address. */
  readonly verifiedByDefault: boolean
  readonly requiresVerification: boolean
  /** A sign-in at the provider counts as two factors, and so no login asks for ours. */
  readonly trustsSecondFactor: boolean
}

interface SignIn extends RequestFacts {
  readonly identity: OAuthIdentity
  readonly provider: string
  readonly policy: OAuthPolicy
}

const maxAttempts = 5

/** A sign-in never fails for a field: the user can give it later. */
const atProvider = { ...doors.ownChange, isRegistration: true }

/** The values of the provider without those that do not fit. */
function fittingFields(
  { fieldRules = noFieldRules, warnOfProviderFields }: Needs,
  { identity: { fields = {} }, provider, requestId }: SignIn,
): GivenFields {
  const { values, faults, dropped } = checkFields(fieldRules, fields, atProvider)
  const isTooLarge = faultOfBytes(fieldRules.fields, values, [...fieldRules.fields.values()]) !== null
  const unfit = new Set([...faults.map(({ field }) => field), ...dropped, ...(isTooLarge ? Object.keys(values) : [])])
  if (unfit.size > 0) warnOfProviderFields?.({ provider, fields: [...unfit], requestId })
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !unfit.has(name)))
}

const actorOf = (name: string): Actor => ({ type: 'provider', name })

/** Logs in the user who returns from a provider: a linked one, one with the same address, or a new one. */
export class FinishOAuth {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute(
    input: LoginClient & {
      response: AuthorizationResponse
      arrival: Arrival
      policy: OAuthPolicy
      backend: Backend
    },
  ): Promise<LoginResult> {
    const { response, arrival, policy, backend, browser } = input
    const request = requestFacts(input)
    const identity = await identityOf(this.#needs, response, arrival, null)
    const provider = arrival.provider.name
    const { user, isNew } = await this.#userOf({ identity, provider, policy, ...request })
    const { requiresVerification } = policy
    const client = { ...request, browser, isRegistration: isNew }
    const by = actorOf(provider)
    const account = accountOf(user, provider, identity.accountId)
    // A thief may have linked an own account before the user added a factor. The provider knows nothing of this user then.
    const isTrusted = policy.trustsSecondFactor && account !== null && isVouchedFor(account, user)
    const proved = { user, backend, methods: isTrusted ? ['provider', twoFactors] : ['provider'], by }
    const login = { ...client, ...proved, detail: provider, requiresVerification }
    return await completeLogin(this.#needs, login)
  }

  /** Retries when a concurrent login wrote first, so that two first logins of one account create one user. */
  async #userOf(signIn: SignIn): Promise<{ user: User; isNew: boolean }> {
    const { users } = this.#needs
    const { identity, provider } = signIn
    const named = { account: identity.email && emailKey(identity.email), reason: 'inactive', detail: provider } as const
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const linked = await noting(this.#needs, named, () =>
        users.findBy(unique.account({ provider, accountId: identity.accountId })),
      )
      if (linked !== null) {
        const account = emailKey(linked.email)
        const renewed = await noting(this.#needs, { ...named, account }, () => this.#renew(linked, signIn))
        if (renewed !== null) return { user: renewed, isNew: false }
        continue
      }
      const found = await noting(this.#needs, named, () => this.#byAddress(signIn))
      if (found !== null) return found
    }
    throw await noted(this.#needs, named, new Unavailable('other logins change an account all the time'))
  }

  async #byAddress(signIn: SignIn): Promise<{ user: User; isNew: boolean } | null> {
    const { email } = signIn.identity
    if (email === null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')
    const same = await this.#needs.users.findBy(unique.email(emailKey(email)))
    const isNew = same === null
    const user = isNew ? await this.#create(email, signIn) : await this.#associate(same, email, signIn)
    return user && { user, isNew }
  }

  async #renew({ id }: User, signIn: SignIn): Promise<User | null> {
    const { identity, provider } = signIn
    const outcome = await this.#needs.changeUser.execute(id, (fresh) => {
      if (accountOf(fresh, provider, identity.accountId) === null) return { type: 'keep' }
      return this.#linked(fresh, signIn)
    })
    if (outcome.type !== 'changed') return null
    return accountOf(outcome.user, provider, identity.accountId) === null ? null : outcome.user
  }

  async #create(email: Email, signIn: SignIn): Promise<User | null> {
    const { users, clock, newUserId = this.#needs.newId } = this.#needs
    const { identity, provider, policy } = signIn
    if (objectionToNewAddress(email) !== null) throw new Refusal('OAUTH_NOT_AVAILABLE_EMAIL')
    const bare = newUser(await newUserId(), email, null, clock())
    const isVerified = policy.verifiedByDefault && identity.isEmailVerified
    const isOwnerProved = identity.isEmailVerified
    const account = sealedAccount(this.#needs, bare, provider, identity)
    const fieldRules = this.#needs.fieldRules ?? noFieldRules
    const linked = withAccount({ ...bare, isVerified, isOwnerProved }, account)
    let given = fittingFields(this.#needs, signIn)
    for (;;) {
      const { values } = checkFields(fieldRules, given, atProvider)
      const user = { ...linked, fields: newFields(fieldRules, values) }
      const outcome = await users.insert(user, await registrationEvents(this.#needs, user, signIn, actorOf(provider)))
      if (outcome === 'field_taken') {
        const taken = await takenField(users, user)
        this.#needs.warnOfProviderFields?.({ provider, fields: [taken], requestId: signIn.requestId })
        given = { ...given, [taken]: null }
        continue
      }
      if (outcome !== 'stored') return null
      this.#needs.wakeRelay?.()
      return user
    }
  }

  /**
   * Links the account only if both sides have verified the address. Otherwise an attacker who enters a victim's address
   * first, here or at the provider, would share the account with the victim (CVE-2026-53516, CVE-2024-38351).
   */
  async #associate({ id }: User, email: Email, signIn: SignIn): Promise<User | null> {
    const { identity, provider, policy } = signIn
    const outcome = await this.#needs.changeUser.execute(id, (fresh) => {
      // A concurrent login may have created this user between our two look-ups.
      const isLinked = accountOf(fresh, provider, identity.accountId) !== null
      const isProved = policy.associateByEmail && identity.isEmailVerified && fresh.isVerified
      const isTheirs = isProved && emailKey(fresh.email) === emailKey(email)
      if (!isLinked && !isTheirs) throw new Refusal('OAUTH_USER_ALREADY_EXISTS')
      return this.#linked(fresh, signIn)
    })
    return outcome.type === 'changed' ? outcome.user : null
  }

  /** Creates or renews the link of an active user. If the owner of the address was not proved yet, it removes earlier access. */
  #linked(fresh: User, signIn: SignIn): Change {
    const { identity, provider } = signIn
    if (!fresh.isActive) throw new Refusal('LOGIN_BAD_CREDENTIALS')
    const account = sealedAccount(this.#needs, fresh, provider, identity)
    const isNew = accountOf(fresh, provider, identity.accountId) === null
    const linked = withAccount(fresh, account)
    const isTakenOver = !fresh.isOwnerProved && isVouchedFor(account, fresh)
    const { user, events } = isTakenOver
      ? takeOver(this.#needs, signIn, actorOf(provider), linked)
      : { user: linked, events: [] }
    if (!isNew) return { type: 'replace', user, events }
    const made = updatedEvent(
      user,
      { oauthLinked: linkOf(account) },
      eventMetadata(this.#needs, signIn, actorOf(provider)),
    )
    return { type: 'replace', user, events: [...events, made] }
  }
}
