import { randomUUID } from 'node:crypto'
import { open, readdir, readFile, rename, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionStore } from '../../src/application/ports/stores/session-store.ts'
import { Unavailable } from '../../src/domain/refusal.ts'
import { expiryOf, type Session } from '../../src/domain/session.ts'

/** The content of a file. The digest is its name, the last use its time. */
interface Kept extends Omit<Session, 'digest' | 'seenAt' | 'provedAt' | 'createdAt' | 'endsAt'> {
  readonly provedAt: string
  readonly createdAt: string
  readonly endsAt: string
}

/**
 * The port behind the store of docs/extending.md: a session is a file. Each operation is one atomic step of the file
 * system: one of many callers removes a file, a complete draft is renamed, and the last use is the time of the file.
 *
 * @param place the folder; throws `Unavailable` while there is none
 */
export function fileSessions(place: () => string, clock: () => Date): SessionStore {
  const pathOf = (digest: string): string => join(place(), digest)
  const isOver = (session: Session): boolean => expiryOf(session) <= clock()

  function unavailable(cause: unknown): never {
    throw new Unavailable('the folder of sessions', { cause })
  }

  /** `null` for a file that is not there, in a folder that is. */
  async function unlessMissing<T>(asked: Promise<T>): Promise<T | null> {
    try {
      return await asked
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return unavailable(error)
      await stat(place()).catch(unavailable)
      return null
    }
  }

  async function live(digest: string): Promise<Session | null> {
    const session = await read(digest)
    return session === null || isOver(session) ? null : session
  }

  async function read(digest: string): Promise<Session | null> {
    const path = pathOf(digest)
    const found = await unlessMissing(Promise.all([readFile(path, 'utf8'), stat(path)]))
    if (found === null) return null
    const [text, { mtimeMs }] = found
    const kept = JSON.parse(text) as Kept // safe: written by `put`
    return {
      ...kept,
      digest,
      provedAt: new Date(kept.provedAt),
      createdAt: new Date(kept.createdAt),
      seenAt: new Date(Math.round(mtimeMs)),
      endsAt: new Date(kept.endsAt),
    }
  }

  async function all(): Promise<Session[]> {
    const names = await readdir(place()).catch(unavailable)
    const found = await Promise.all(names.filter((name) => !name.endsWith('.draft')).map(read))
    return found.filter((session) => session !== null)
  }

  async function end(digest: string): Promise<boolean> {
    const isMine = (await unlessMissing(unlink(pathOf(digest)).then(() => true))) ?? false
    if (isMine) await keepFolder()
    return isMine
  }

  /** After a crash a name is as it was when its folder was last synced. */
  async function keepFolder(): Promise<void> {
    const folder = await open(place()).catch(unavailable)
    await folder.sync().catch(unavailable)
    await folder.close()
  }

  return {
    async put({ digest, seenAt, ...session }) {
      const draft = pathOf(`${randomUUID()}.draft`)
      await writeFile(draft, JSON.stringify(session), { mode: 0o600, flush: true }).catch(unavailable)
      await utimes(draft, seenAt, seenAt).catch(unavailable)
      await rename(draft, pathOf(digest)).catch(unavailable)
      await keepFolder()
    },

    find: live,

    async recordUse(digest, at) {
      const session = await live(digest)
      if (session !== null && session.seenAt < at) await unlessMissing(utimes(pathOf(digest), at, at))
    },

    async remove(digest) {
      return (await live(digest)) !== null && (await end(digest))
    },

    async listOf(userId, limit) {
      const theirs = (await all()).filter((session) => session.userId === userId && !isOver(session))
      return theirs.sort((one, other) => other.createdAt.getTime() - one.createdAt.getTime()).slice(0, limit)
    },

    async removeAllOf(userId) {
      const theirs = (await all()).filter((session) => session.userId === userId)
      for (const { digest } of theirs) await end(digest)
    },

    async sweep(limit) {
      const over = (await all()).filter(isOver).slice(0, limit)
      const swept = await Promise.all(over.map(({ digest }) => end(digest)))
      return swept.filter((isMine) => isMine).length
    },
  }
}
