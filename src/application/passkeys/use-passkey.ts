import { person } from '../../domain/actor.ts'
import { updatedEvent } from '../../domain/events.ts'
import { type Passkey, twoFactors } from '../../domain/factors.ts'
import { jsonId } from '../../domain/ids.ts'
import { InvalidInput } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { PasskeyResponse, PasskeyVerifier } from '../ports/passkey-verifier.ts'
import type { SignInChallenges } from './sign-in-challenges.ts'

export interface UsePasskeyNeeds extends MetadataNeeds {
  changeUser: ChangeUser
  signInChallenges: SignInChallenges
  passkeys: PasskeyVerifier
  /** Called when the counter of a passkey went back. Must not throw. */
  warnOfCopiedPasskey: (copied: CopiedPasskey) => void
}

/** A passkey of which a copy may exist. */
export interface CopiedPasskey {
  readonly userId: string | number
  readonly requestId: string
}

interface Use extends RequestFacts {
  readonly response: PasskeyResponse
  /** The secret of the browser; `null` without one. */
  readonly browser: string | null
  /** The user of the answer; `null` for none. */
  readonly findUser: () => Promise<User | null>
}

/** A user whose passkey was verified, and how (RFC 8176 section 2). */
export interface ProvedByPasskey {
  readonly user: User
  readonly methods: readonly string[]
}

/** Verifies the use of a passkey for its user. `null`: it is refused. */
export async function usePasskey(needs: UsePasskeyNeeds, use: Use): Promise<ProvedByPasskey | null> {
  const { signInChallenges, passkeys } = needs
  const { response, browser, findUser } = use
  const challenge = passkeys.challengeOf(response)
  if (challenge === null) throw new InvalidInput('response', 'must be the answer of an authenticator')
  const end = signInChallenges.endOf(challenge, browser)
  if (end === null) return null
  const user = await findUser()
  const passkey = user?.factors.passkeys.find((one) => one.id === response.id)
  if (user === null || passkey === undefined || !isOurs(user, response)) return null
  const used = await passkeys.used(response, challenge, passkey)
  if (used === null || !(await signInChallenges.use(challenge, end))) return null
  const methods = [used.isSynced ? 'swk' : 'hwk', 'user', twoFactors]
  if (used.counter === passkey.counter && used.counter === 0) return { user, methods }
  const counted = await count(needs, user, passkey, used.counter, use)
  return counted && { user: counted, methods }
}

/** A sign-in without an address names its user; with the second step of a login it need not. */
function isOurs({ factors }: User, { response }: PasskeyResponse): boolean {
  return response.userHandle == null || response.userHandle === factors.passkeyHandle
}

/** Keeps the counter. If it went back, an event tells so. A refusal would lock the user out (WebAuthn Level 3 section 6.1.1). */
async function count(
  needs: UsePasskeyNeeds,
  { id }: User,
  { id: passkeyId }: Passkey,
  counter: number,
  request: RequestFacts,
): Promise<User | null> {
  let [isPresent, wentBack] = [false, false]
  const outcome = await needs.changeUser.execute(id, (fresh) => {
    const stored = fresh.factors.passkeys.find((one) => one.id === passkeyId)
    isPresent = stored !== undefined
    if (stored === undefined) return { type: 'keep' }
    wentBack = counter <= stored.counter
    const passkeys = fresh.factors.passkeys.map((one) => (one === stored && !wentBack ? { ...one, counter } : one))
    const user = { ...fresh, factors: { ...fresh.factors, passkeys } }
    const metadata = () => eventMetadata(needs, request, person(user, null))
    const events = wentBack ? [updatedEvent(user, { passkeyCounterWentBack: true }, metadata())] : []
    return { type: 'replace', user, events }
  })
  if (wentBack) needs.warnOfCopiedPasskey({ userId: jsonId(id), requestId: request.requestId })
  return isPresent && outcome.type === 'changed' ? outcome.user : null
}
