import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { secretMark } from '../../adapters/crypto/derived-keys.ts'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { makePrivateFolder } from '../../lib/private-folder.ts'
import { secretObjection } from '../settings/rules/secret.ts'
import { SettingsFault, settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { memberOf } from '../settings/schema/tree.ts'

/** Processes may start at the same time, so a store may see the secret of another process first. */
const firstStartMilliseconds = 60_000

export interface MasterSecret {
  readonly secret: string
  readonly origin: 'given' | 'read' | 'generated'
  /** Its file in the data folder; `null` if it was given in the settings. */
  readonly path: string | null
  /** Whether its file is older than this process, by at least a minute. */
  readonly isOfAnEarlierStart: boolean
  readonly warnings: readonly string[]
}

/**
 * Returns the given secret, or the one in the data folder. It creates a missing one there, and concurrent starts get the
 * same one. Throws `SettingsFault`.
 */
export async function resolveSecret({ secret, dataFolder }: Settings): Promise<MasterSecret> {
  if (secret !== null) return { secret, origin: 'given', path: null, isOfAnEarlierStart: false, warnings: [] }
  const path = join(dataFolder, 'secret')
  try {
    let origin: MasterSecret['origin'] = 'read'
    let found = await readSecret(path)
    if (found === null) {
      origin = await writeSecret(path, randomBytes(32).toString('base64url'))
      found = await readSecret(path)
    }
    if (found === null) throw settingsFault('secret', `${path} has vanished`)
    return { ...found, origin, path }
  } catch (error) {
    if (error instanceof SettingsFault) throw error
    throw settingsFault(
      'dataFolder',
      `the secret cannot be kept in ${path} (${String(memberOf(error, 'code') ?? error)})`,
    )
  }
}

/** Binds the store to the secret, or throws a `SettingsFault` if it is bound to another one. */
export async function bindSecret(
  users: Pick<UsersRole, 'secretMark'>,
  master: MasterSecret,
  keyOwner: string | null,
): Promise<'first' | 'same'> {
  const mark = await users.secretMark.check(secretMark(master.secret, keyOwner))
  if (mark !== 'other') return mark
  await discardGenerated(master)
  const { origin, path } = master
  const problem = {
    given: 'is not the one this user store was started with',
    read: `in ${path} is not the one this user store was started with`,
    generated: `is missing: ${path} does not exist, and this user store was started with a secret`,
  }[origin]
  const advice = 'restore the first secret, or replace it (docs/stores.md#replace-the-secret)'
  throw settingsFault('secret', `${problem}: ${advice}`)
}

/** Removes a secret that this failed start has generated. Otherwise the next start would use it. */
async function discardGenerated({ secret, origin, path }: MasterSecret): Promise<void> {
  if (origin !== 'generated' || path === null) return
  const found = await readSecret(path)
  if (found?.secret === secret) await rm(path, { force: true })
}

async function readSecret(path: string): Promise<Omit<MasterSecret, 'origin' | 'path'> | null> {
  let text: string
  let found: Stats
  try {
    found = await stat(path)
    text = await readFile(path, 'utf8')
  } catch (error) {
    const code = memberOf(error, 'code')
    if (code === 'ENOENT') return null
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    // After a restore, the file may belong to another user.
    throw settingsFault('secret', `this process may not read ${path} (${code}): check its owner`)
  }
  const secret = text.replace(/\r?\n$/, '')
  const objection = secretObjection(secret)
  if (objection !== null) throw settingsFault('secret', `the text in ${path} ${objection}`)
  const isPrivate = (found.mode & 0o077) === 0 || process.platform === 'win32'
  return {
    secret,
    isOfAnEarlierStart: performance.timeOrigin - found.mtimeMs > firstStartMilliseconds,
    warnings: isPrivate ? [] : [`${path} can be read by others: chmod 600 ${path}`],
  }
}

/** The complete file appears at once, and only for one caller, because `link` refuses an existing name. */
async function writeSecret(path: string, secret: string): Promise<'generated' | 'read'> {
  await makePrivateFolder(dirname(path))
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${secret}\n`, { flag: 'wx', mode: 0o600, flush: true })
    await link(draft, path)
    return 'generated'
  } catch (error) {
    if (memberOf(error, 'code') === 'EEXIST') return 'read'
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
