import { randomBytes } from 'node:crypto'
import { chown, link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makePrivateFolder } from '../../lib/private-folder.ts'
import { newToken } from './derived-keys.ts'
import { secretObjection } from './secret-objection.ts'

/** Processes may start at the same time, so a store may see the secret of another process first. */
const firstStartMilliseconds = 60_000

interface SecretFile {
  readonly secret: string
  /** The secrets in the other lines, which only open. */
  readonly former: readonly string[]
  /** Whether the file is older than this process, by at least a minute. */
  readonly isOfAnEarlierStart: boolean
  /** Whether its owner alone can read it. */
  readonly isPrivate: boolean
}

/**
 * Returns the secret in the file, and creates a missing file; concurrent callers get the same secret. A problem with a file
 * that exists is a value. Throws if the file cannot be written.
 */
export async function openSecretFile(
  path: string,
): Promise<(SecretFile & { readonly origin: 'read' | 'generated' }) | { readonly problem: string }> {
  const found = await readSecret(path)
  if (found !== null) return { ...found, origin: 'read' }
  const origin = await writeSecret(path, randomBytes(32).toString('base64url'))
  const written = await readSecret(path)
  return written === null ? { problem: `${path} has vanished` } : { ...written, origin }
}

/** The key in such a file, so that it outlives a restart; a new key for this process if it cannot be kept. */
export async function keptKey(path: string): Promise<string> {
  const found = await openSecretFile(path).catch(() => null)
  return found !== null && 'secret' in found ? found.secret : newToken()
}

/** Removes the file if it still holds this secret. */
export async function removeSecretFile(path: string, secret: string): Promise<void> {
  const found = await readSecret(path)
  if (found !== null && 'secret' in found && found.secret === secret) await rm(path, { force: true })
}

/** The secrets in the file, the first one first. */
export async function secretsIn(path: string): Promise<readonly string[]> {
  return (await readFile(path, 'utf8')).replace(/\r?\n$/, '').split(/\r?\n/)
}

/** Replaces the secrets in the file. A reader gets all former ones or all new ones, also after a crash. */
export async function rewriteSecrets(path: string, secrets: readonly string[]): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const { uid, gid } = await stat(path)
  try {
    await writeFile(draft, `${secrets.join('\n')}\n`, { flag: 'wx', mode: 0o600, flush: true })
    if (process.getuid?.() === 0) await chown(draft, uid, gid) // the service may run as another user
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Adds a new secret as the last one. */
export async function addSecret(path: string): Promise<void> {
  await rewriteSecrets(path, [...(await secretsIn(path)), newToken()])
}

/** Makes the last secret the first one. */
export async function makeLastFirst(path: string): Promise<void> {
  const [newest, ...others] = (await secretsIn(path)).toReversed()
  if (newest !== undefined) await rewriteSecrets(path, [newest, ...others.toReversed()])
}

export async function dropSecrets(path: string, isDropped: (secret: string) => boolean): Promise<void> {
  const secrets = await secretsIn(path)
  await rewriteSecrets(
    path,
    secrets.filter((secret) => !isDropped(secret)),
  )
}

async function readSecret(path: string): Promise<SecretFile | { readonly problem: string } | null> {
  try {
    const { mode, mtimeMs } = await stat(path)
    const [secret = '', ...former] = await secretsIn(path)
    for (const [at, one] of [secret, ...former].entries()) {
      const objection = secretObjection(one)
      const where = former.length === 0 ? 'the text' : `line ${at + 1}`
      if (objection !== null) return { problem: `${where} in ${path} ${objection}` }
    }
    return {
      secret,
      former,
      isOfAnEarlierStart: performance.timeOrigin - mtimeMs > firstStartMilliseconds,
      isPrivate: (mode & 0o077) === 0 || process.platform === 'win32',
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException // safe: only the file system throws here
    if (code === 'ENOENT') return null
    // After a restore, the file may belong to another user.
    if (code === 'EACCES' || code === 'EPERM') {
      return { problem: `this process may not read ${path} (${code}): check its owner` }
    }
    throw error
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
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'read' // safe: only the file system throws here
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}
