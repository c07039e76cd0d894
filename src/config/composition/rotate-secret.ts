import { keySetName, keysIn, noKeys, resealed } from '../../adapters/credentials/signing/key-set.ts'
import { derivedKeys } from '../../adapters/crypto/derived-keys.ts'
import { deviceTokenSeconds } from '../../adapters/crypto/device-tokens.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import { addSecret, dropSecrets, makeLastFirst } from '../../adapters/crypto/secret-file.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { journeySeconds } from '../../application/oauth/journey.ts'
import type { Timers } from '../../application/ports/timers.ts'
import { needsOfFormer } from '../../application/secrets/needs-of-former.ts'
import { ResealEverything } from '../../application/secrets/reseal-everything.ts'
import { ResealUser } from '../../application/secrets/reseal-user.ts'
import { readRotation, rotationStep } from '../../application/secrets/rotation.ts'
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

export type Rotation = Awaited<ReturnType<typeof rotationOf>>

/** The change of the secret of a tenant: the next step, and the work of each. Throws `SettingsFault` for a wrong secret. */
export async function rotationOf({ users: { users, tenantTexts }, settings, tenant, clock, timers }: Needs) {
  const master = await resolveSecret(settings)
  await bindSecret({ tenantTexts }, master, tenant)
  const marks = { mark: markOf(master, tenant), former: formerMarksOf(master, tenant) }
  const rotation = await readRotation(tenantTexts, marks)
  const { path } = master
  const ends = endsOf(settings, rotation.current?.doneAt ?? null)
  const keys = keyRingOf(master, tenant)
  const first = derivedKeys(master.secret, keyOwnerOf(tenant))
  const file = (): string => {
    if (path !== null && settings.formerSecrets.length === 0) return path
    throw settingsFault('formerSecrets', 'must be empty: the secrets are in the data folder, one in each line')
  }

  return {
    step: rotationStep(rotation, marks, { isFile: path !== null, formerUntil: ends.formerUntil, now: clock() }),
    path,
    ...ends,

    /** Adds a new secret, which opens and signs nothing. */
    add: async () => await addSecret(file()),
    /** Makes the new secret the first one. */
    makeFirst: async () => await makeLastFirst(file()),
    /** Removes the former secret. */
    drop: async () =>
      await dropSecrets(file(), (secret) => markOf({ ...master, secret }, tenant) === rotation.current?.from),

    /** As `ResealEverything`. */
    async reseal(told: (users: number) => void) {
      const resealUser = new ResealUser({
        changeUser: new ChangeUser({ users, timers, random: Math.random }),
        vault: providerVault(keys.providerTokenKey, keys.former.providerTokenKeys),
        keyRing: keys,
        current: { ...providerVault(first.providerTokenKey), unsealFactor: first.unsealFactor },
        clock,
      })
      const resealedKeys = (stored: string) =>
        resealed(stored, first.unsealSigningKey, first.sealSigningKey) === null
          ? resealed(stored, keys.unsealSigningKey, keys.sealSigningKey)
          : null
      const needs = { users, tenantTexts, resealUser, keySetName, resealedKeys, mark: marks.mark, timers, clock }
      const outcome = await new ResealEverything(needs).execute(rotation, told)
      if (outcome === null) return null
      const { doneAt, ...sums } = outcome
      return { ...sums, ...endsOf(settings, doneAt) }
    },

    /**
     * The stored values that need each former secret, in the order of the settings. They are the mark of the users, provider tokens and
     * second factors of so many users, and signing keys.
     */
    async needsOfFormer() {
      const formerKeys = master.former.map((secret) => derivedKeys(secret, keyOwnerOf(tenant)))
      const openers = formerKeys.map(({ providerTokenKey, unsealFactor }) => ({
        unseal: providerVault(providerTokenKey).unseal,
        unsealFactor,
      }))
      const ofUsers = await needsOfFormer(users, openers)
      const signingKeys = keysIn((await tenantTexts.read(keySetName)) ?? noKeys)
      return formerKeys.map(({ unsealSigningKey }, at) => ({
        isBound: marks.former[at] === rotation.bound,
        users: ofUsers[at] ?? 0,
        signingKeys: signingKeys.filter(({ sealed, kid }) => unsealSigningKey(sealed, kid) !== null).length,
      }))
    },
  }
}

/** The ends of the last credential and of the last device cookie that a former secret may have signed until then. */
function endsOf({ backends, tokens }: Settings, doneAt: string | null) {
  if (doneAt === null) return { formerUntil: null, devicesUntil: null }
  const jwts = enabledOf(backends).flatMap(([, { strategy }]) =>
    strategy.kind === 'jwt' ? [strategy.lifetimeSeconds] : [],
  )
  const longest = Math.max(journeySeconds, tokens.resetLifetimeSeconds, tokens.verifyLifetimeSeconds, ...jwts)
  const after = (seconds: number) => new Date(Date.parse(doneAt) + seconds * 1000)
  return { formerUntil: after(longest), devicesUntil: after(deviceTokenSeconds) }
}
