import { keySetName, keysIn, noKeys, resealed } from '../../adapters/credentials/signing/key-set.ts'
import { derivedKeys, newToken } from '../../adapters/crypto/derived-keys.ts'
import { deviceTokenSeconds } from '../../adapters/crypto/device-tokens.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import { rewriteSecrets, secretsIn } from '../../adapters/crypto/secret-file.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { everyOne } from '../../application/every-one.ts'
import type { KeyRing } from '../../application/ports/key-ring.ts'
import type { ProviderVault } from '../../application/ports/provider-vault.ts'
import type { Timers } from '../../application/ports/timers.ts'
import { ResealUser } from '../../application/reseal-user.ts'
import { openSeconds } from '../../application/single-use/open-share.ts'
import { recoveryBinding, totpBinding } from '../../domain/factors.ts'
import type { User } from '../../domain/user.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { enabledOf } from '../settings/schema/tree.ts'
import { bindSecret, formerMarksOf, keyOwnerOf, keyRingOf, markOf, resolveSecret } from './master-secret.ts'

interface Needs {
  readonly users: Pick<UsersRole, 'users' | 'tenantTexts'>
  readonly settings: Settings
  readonly tenant: string
  readonly clock: () => Date
  readonly timers: Timers
}

/** The progress of a change of the secret, beside the users. Both secrets are their marks. */
interface Progress {
  readonly to: string
  readonly from: string
  /** The cursor behind the last user. */
  readonly after: string | null
  readonly users: number
  readonly resealed: number
  /** When everything was sealed anew, in ISO 8601; `null` until then. */
  readonly doneAt: string | null
}

/**
 * The next step. `'add'`, `'makeFirst'` and `'drop'` are for the file in the data folder; where the secret is a setting, the
 * operator does these, and `'advice'` names the setting.
 */
export type RotationStep = 'add' | 'makeFirst' | 'reseal' | 'wait' | 'drop' | 'advice'

export type Rotation = Awaited<ReturnType<typeof rotationOf>>

const recordName = 'secret-rotation'
const pageSize = 500
const writesAtOnce = 16
const busyMilliseconds = 1000

/** The change of the secret of a tenant: the next step, and the work of each. Throws `SettingsFault` for a wrong secret. */
export async function rotationOf({ users: { users, tenantTexts }, settings, tenant, clock, timers }: Needs) {
  const master = await resolveSecret(settings)
  await bindSecret({ tenantTexts }, master, tenant)
  const bound = await tenantTexts.read('secret')
  const to = markOf(master, tenant)
  const text = await tenantTexts.read(recordName)
  const progress: Progress | null = text === null ? null : JSON.parse(text) // safe: written below
  const { path } = master
  /** The change to the present secret, if the former one is still given. */
  const current = progress?.to === to && formerMarksOf(master, tenant).includes(progress.from) ? progress : null
  const ends = endsOf(settings, current?.doneAt ?? null)
  const keys = keyRingOf(master, tenant)
  const first = derivedKeys(master.secret, keyOwnerOf(tenant))
  const resealUser = new ResealUser({
    changeUser: new ChangeUser({ users, timers, random: Math.random }),
    vault: providerVault(keys.providerTokenKey, keys.former.providerTokenKeys),
    keyRing: keys,
    current: { ...providerVault(first.providerTokenKey), unsealFactor: first.unsealFactor },
    clock,
  })

  return {
    step: stepNow(),
    path,
    ...ends,

    /** Adds a new secret, which opens and signs nothing. */
    async add(): Promise<void> {
      await rewriteSecrets(pathOfFile(), [...(await secretsIn(pathOfFile())), newToken()])
    },

    /** Makes the new secret the first one. */
    async makeFirst(): Promise<void> {
      const [newest, ...others] = (await secretsIn(pathOfFile())).toReversed()
      if (newest !== undefined) await rewriteSecrets(pathOfFile(), [newest, ...others.toReversed()])
    },

    /** Removes the former secret. */
    async drop(): Promise<void> {
      const secrets = await secretsIn(pathOfFile())
      const isFormer = (secret: string) => markOf({ ...master, secret }, tenant) === current?.from
      await rewriteSecrets(
        pathOfFile(),
        secrets.filter((secret) => !isFormer(secret)),
      )
    },

    /**
     * Seals everything anew with the first secret, and binds the users to it. After an interruption it goes on with the next user. A
     * repetition moves the end of the former secret only if a process has sealed with it since. Returns `null` if another command does the
     * same.
     *
     * @param told receives the number of users so far, after each page
     */
    async reseal(told: (users: number) => void) {
      await resealSigningKeys()
      let known = text
      const doneAt = current?.doneAt ?? null
      const begun = progress?.to === to && progress.doneAt === null ? progress : null
      let now: Progress = begun ?? {
        to,
        from: current?.from ?? bound ?? to,
        after: null,
        users: 0,
        resealed: 0,
        doneAt,
      }
      const note = async (next: Progress): Promise<boolean> => {
        const written = JSON.stringify(next)
        const isAlone = await tenantTexts.exchange(recordName, known, written)
        known = written
        now = next
        return isAlone
      }
      // Otherwise a command that is interrupted after the mark has moved would leave no trace of the former secret.
      if (begun === null && doneAt === null && !(await note(now))) return null
      for (;;) {
        const { items, next: after } = await users.list(pageSize, now.after)
        const sums = { users: now.users + items.length, resealed: now.resealed + (await reseal(items)) }
        const wasUnused = sums.resealed === 0 ? doneAt : null
        if (after !== null) {
          if (!(await note({ ...now, ...sums, after, doneAt: wasUnused }))) return null
          told(sums.users)
          continue
        }
        // The mark moves once everything is sealed. Until then, a process without the first secret may start.
        if (bound !== null && bound !== to && !(await tenantTexts.exchange('secret', bound, to))) return null
        const end = { ...now, ...sums, after: null, doneAt: wasUnused ?? clock().toISOString() }
        return (await note(end)) ? { ...sums, ...endsOf(settings, end.doneAt) } : null
      }
    },

    /**
     * The stored values that need each former secret, in the order of the settings. They are the mark of the users, provider tokens and
     * second factors of so many users, and signing keys.
     */
    async needsOfFormer() {
      const formerKeys = master.former.map((secret) => derivedKeys(secret, keyOwnerOf(tenant)))
      const marks = formerMarksOf(master, tenant)
      const needs = formerKeys.map(({ providerTokenKey, unsealFactor }) => {
        return { unseal: providerVault(providerTokenKey).unseal, unsealFactor, users: 0 }
      })
      for await (const user of everyOne((after) => users.list(pageSize, after))) {
        for (const need of needs) if (needsSecret(user, need)) need.users++
      }
      const signingKeys = keysIn((await tenantTexts.read(keySetName)) ?? noKeys)
      return formerKeys.map(({ unsealSigningKey }, at) => ({
        isBound: marks[at] === bound,
        users: needs[at]?.users ?? 0,
        signingKeys: signingKeys.filter(({ sealed, kid }) => unsealSigningKey(sealed, kid) !== null).length,
      }))
    },
  }

  function stepNow(): RotationStep {
    if (bound !== to) return 'reseal'
    if (master.former.length === 0) return path === null ? 'advice' : 'add'
    if (current === null) return path === null ? 'advice' : 'makeFirst'
    if (ends.formerUntil === null) return 'reseal'
    return path === null || ends.formerUntil > clock() ? 'wait' : 'drop'
  }

  function pathOfFile(): string {
    if (path === null || settings.formerSecrets.length > 0) {
      throw settingsFault('formerSecrets', 'must be empty: the secrets are in the data folder, one in each line')
    }
    return path
  }

  /** Returns the number of users who had tokens or second factors by a former secret. */
  async function reseal(page: readonly User[]): Promise<number> {
    let count = 0
    for (let left = page; left.length > 0; ) {
      const busy: User[] = []
      for (let at = 0; at < left.length; at += writesAtOnce) {
        const some = left.slice(at, at + writesAtOnce)
        const outcomes = await Promise.all(some.map((user) => resealUser.execute(user)))
        count += outcomes.filter((outcome) => outcome === 'resealed').length
        busy.push(...some.filter((_user, index) => outcomes[index] === 'busy'))
      }
      left = busy
      if (left.length > 0) await timers.pause(busyMilliseconds)
    }
    return count
  }

  async function resealSigningKeys(): Promise<void> {
    for (;;) {
      const stored = await tenantTexts.read(keySetName)
      if (stored === null || resealed(stored, first.unsealSigningKey, first.sealSigningKey) !== null) return
      const anew = resealed(stored, keys.unsealSigningKey, keys.sealSigningKey)
      if (anew === null || (await tenantTexts.exchange(keySetName, stored, anew))) return
    }
  }
}

/** Whether a secret has sealed a provider token or a second factor of the user. */
function needsSecret(
  { id, oauthAccounts, factors: { totp, recovery } }: User,
  { unseal, unsealFactor }: Pick<ProviderVault, 'unseal'> & Pick<KeyRing, 'unsealFactor'>,
): boolean {
  const opens = (sealed: string | undefined, binding: string) =>
    sealed !== undefined && unsealFactor(sealed, binding) !== null
  if (opens(totp?.sealedSecret, totpBinding(id)) || opens(recovery?.sealedKey, recoveryBinding(id))) return true
  return oauthAccounts.some(({ provider, sealedAccessToken, sealedRefreshToken }) =>
    [sealedAccessToken, sealedRefreshToken].some((sealed) => sealed !== null && unseal(sealed, id, provider) !== null),
  )
}

/** The ends of the last credential and of the last device cookie that a former secret may have signed until then. */
function endsOf({ backends, tokens }: Settings, doneAt: string | null) {
  if (doneAt === null) return { formerUntil: null, devicesUntil: null }
  const jwts = enabledOf(backends).flatMap(([, { strategy }]) =>
    strategy.kind === 'jwt' ? [strategy.lifetimeSeconds] : [],
  )
  const longest = Math.max(openSeconds, tokens.resetLifetimeSeconds, tokens.verifyLifetimeSeconds, ...jwts)
  const after = (seconds: number) => new Date(Date.parse(doneAt) + seconds * 1000)
  return { formerUntil: after(longest), devicesUntil: after(deviceTokenSeconds) }
}
