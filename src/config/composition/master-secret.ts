import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { keySetName, noKeys } from '../../adapters/credentials/signing/key-set.ts'
import { type DerivedKeys, derivedKeys, secretMark } from '../../adapters/crypto/derived-keys.ts'
import { openSecretFile, removeSecretFile } from '../../adapters/crypto/secret-file.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { checkText, replaceText } from '../../application/tenant-texts.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { memberOf } from '../settings/schema/tree.ts'
import { defaultTenant } from '../settings/tenants.ts'

export interface MasterSecret {
  /** The secret that signs and seals. */
  readonly secret: string
  /** Secrets that only open. */
  readonly former: readonly string[]
  readonly origin: 'given' | 'read' | 'generated'
  /** Its file in the data folder; `null` if it was given in the settings. */
  readonly path: string | null
  /** Whether its file is older than this process, by at least a minute. */
  readonly isOfAnEarlierStart: boolean
  readonly warnings: readonly string[]
}

/** Whether `resolveSecret` would find a secret, and create none. */
export function hasSecret({ secret, dataFolder }: Settings): boolean {
  return secret !== null || existsSync(secretPathIn(dataFolder))
}

/** Returns the given secret, or the one in the data folder, where it creates a missing one. Throws `SettingsFault`. */
export async function resolveSecret({ secret, formerSecrets, dataFolder }: Settings): Promise<MasterSecret> {
  if (secret !== null) {
    const former = othersThan(secret, formerSecrets)
    return { secret, former, origin: 'given', path: null, isOfAnEarlierStart: false, warnings: [] }
  }
  const path = secretPathIn(dataFolder)
  const found = await openSecretFile(path).catch((error: unknown) => {
    const reason = String(memberOf(error, 'code') ?? error)
    throw settingsFault('dataFolder', `the secret cannot be kept in ${path} (${reason})`)
  })
  if ('problem' in found) throw settingsFault('secret', found.problem)
  const former = othersThan(found.secret, [...found.former, ...formerSecrets])
  return {
    ...found,
    former,
    path,
    warnings: found.isPrivate ? [] : [`${path} can be read by others: chmod 600 ${path}`],
  }
}

/** A secret that is given twice counts once: otherwise each point of a limit would count twice. */
const othersThan = (secret: string, all: readonly string[]): readonly string[] =>
  [...new Set(all)].filter((one) => one !== secret)

const secretPathIn = (dataFolder: string): string => join(dataFolder, 'secret')

/** Binds the store to the secret, or throws a `SettingsFault` if it is bound to none of the secrets. */
export async function bindSecret(
  users: Pick<UsersRole, 'tenantTexts'>,
  master: MasterSecret,
  tenant: string,
): Promise<'first' | 'same'> {
  // A record of no keys tells data of this release from older ones, for which nobody chose an algorithm with pairs of keys.
  if ((await users.tenantTexts.read('secret')) === null) await users.tenantTexts.exchange(keySetName, null, noKeys)
  const mark = await checkText(users.tenantTexts, 'secret', markOf(master, tenant))
  if (mark !== 'other') return mark
  const bound = await users.tenantTexts.read('secret')
  if (bound !== null && formerMarksOf(master, tenant).includes(bound)) return 'same'
  const { secret, origin, path } = master
  // Otherwise the next start would use the secret that this failed start has generated.
  if (origin === 'generated' && path !== null) await removeSecretFile(path, secret)
  const problem = {
    given: 'is not the one this user store was started with',
    read: `in ${path} is not the one this user store was started with`,
    generated: `is missing: ${path} does not exist, and this user store was started with a secret`,
  }[origin]
  const advice = 'restore the first secret, or replace it (docs/stores.md#replace-the-secret)'
  throw settingsFault('secret', `${problem}: ${advice}`)
}

/**
 * Binds the store to the secret of the settings, or to a new one in the data folder in place of the present one. `'same'`:
 * the secret of the settings is the present one.
 */
export async function replaceSecret(
  users: Pick<UsersRole, 'tenantTexts'>,
  settings: Settings,
  tenant: string,
): Promise<MasterSecret | 'same'> {
  if (settings.formerSecrets.length > 0) {
    throw settingsFault('formerSecrets', 'must be empty: everything that these secrets have signed would stay valid')
  }
  if (settings.secret === null) await rm(secretPathIn(settings.dataFolder), { force: true })
  const master = await resolveSecret(settings)
  const mark = markOf(master, tenant)
  if ((await checkText(users.tenantTexts, 'secret', mark)) === 'same') return 'same'
  await replaceText(users.tenantTexts, 'secret', mark)
  // The present keys are sealed with the former secret.
  if ((await users.tenantTexts.read(keySetName)) !== null) await replaceText(users.tenantTexts, keySetName, noKeys)
  return master
}

/** The mark by which a store or a file recognises the secret of a tenant. */
export function markOf({ secret }: MasterSecret, tenant: string): string {
  return secretMark(secret, keyOwnerOf(tenant))
}

/** The marks of the secrets that only open. */
export function formerMarksOf({ former }: MasterSecret, tenant: string): readonly string[] {
  return former.map((secret) => secretMark(secret, keyOwnerOf(tenant)))
}

/** The keys of a tenant. */
export function keyRingOf({ secret, former }: MasterSecret, tenant: string): DerivedKeys {
  return derivedKeys([secret, ...former], keyOwnerOf(tenant))
}

/** The name of a tenant is part of its keys. The tenant `default` has the keys of a deployment without tenants. */
export function keyOwnerOf(tenant: string): string | null {
  return tenant === defaultTenant ? null : tenant
}
