import { emailKey } from '../../domain/email.ts'
import { keyOf } from '../../domain/fields.ts'
import { parseUserId } from '../../domain/ids.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { importMark, type User } from '../../domain/user.ts'
import type { Arrival, ArrivingEnd, ArrivingSession, ArrivingUser, UserSource } from '../ports/user-source.ts'
import { type Arrived, type ArrivedNeeds, accountKey, arrivedId, arrivedUser, type Origin } from './arrived-user.ts'
import { deletedImport, importedSession } from './import-marks.ts'
import {
  added,
  type ImportCounts,
  type ImportProblem,
  type ImportProgress,
  noCounts,
  sumOf,
} from './import-progress.ts'
import type { ImportTarget } from './import-target.ts'
import { rehearsalOf } from './rehearsal.ts'
import { writeArrived } from './write-arrived.ts'

interface Needs extends ArrivedNeeds {
  readonly target: ImportTarget
  /** The mark of the master secret that encrypts here. */
  readonly sealedBy: string
  /** Records that are imported at once, and between two cursors; 32 if it is absent. */
  readonly batchSize?: number
}

export interface ImportedBatch extends ImportProgress {
  readonly problems: readonly ImportProblem[]
}

interface Outcome {
  readonly counted: Partial<ImportCounts>
  readonly problem: ImportProblem | null
}

const maxTries = 5
/** Sessions of one user; the newest go first. */
const maxSessions = 1000
/** Sessions that are stored by one write. */
const maxTogether = 500

/** The sessions of a record: maybe of an earlier import, of no earlier one, or stored already. */
type Logins = 'known' | 'new' | 'stored'

/**
 * Copies records from a source. Every record is stored as a whole or reported. No event is written, so no handler is called and
 * no mail is sent. A record that was imported before is compared: if it has changed in the source alone, the user follows it.
 */
export class ImportUsers {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * Yields after each batch. A caller that stops may go on later from the last progress: a record that is imported twice is as
   * one that is imported once. Throws `Unavailable` when source or target do not answer.
   */
  async *execute(
    source: UserSource,
    {
      from = { cursor: null, counts: noCounts, digest: '' },
      isRehearsal = false,
    }: { from?: ImportProgress; isRehearsal?: boolean } = {},
  ): AsyncGenerator<ImportedBatch> {
    const target = isRehearsal ? rehearsalOf(this.#needs.target) : this.#needs.target
    const isSealedByOther = source.sealedBy !== null && source.sealedBy !== this.#needs.sealedBy
    const mayBeDeleted = await target.expiringMarks.has(deletedImport())
    const origin = { hasHashes: source.hasHashes, isSealedByOther, mayBeDeleted }
    let { cursor, counts, digest } = from
    let areNew = true
    for await (const batch of batches(source.arrivals(cursor), this.#needs.batchSize ?? 32)) {
      const keysOf = (arrival: Arrival) => this.#keysOf(arrival)
      const outcomes: readonly Outcome[] =
        (areNew && !mayBeDeleted ? await this.#importNew(target, batch, origin) : null) ??
        (await inTurn(batch, keysOf, (arrival) => this.#import(target, arrival, origin)))
      areNew = outcomes.every(({ counted }) => counted.unchanged === undefined && counted.replaced === undefined)
      cursor = batch.at(-1)?.cursor ?? cursor
      counts = outcomes.reduce((sum, { counted }) => added(sum, counted), counts)
      digest = batch.reduce((sum, one) => sumOf(sum, one.digest), digest)
      yield { cursor, counts, digest, problems: outcomes.flatMap(({ problem }) => problem ?? []) }
    }
  }

  async #import(target: ImportTarget, { record, digest }: Arrival, origin: Omit<Origin, 'digest'>): Promise<Outcome> {
    if (record.type === 'unreadable') return refused({ id: record.id, email: null }, record.reason)
    if (record.type === 'ended') return await this.#importEnd(target, record)
    return await unlessRefused(record, () => this.#importUser(target, record, { digest, ...origin }))
  }

  /** Stores users by one write, without a look-up; `null` if that is not possible for one of them. Then nothing was stored. */
  async #importNew(
    target: ImportTarget,
    batch: readonly Arrival[],
    origin: Omit<Origin, 'digest'>,
  ): Promise<readonly Outcome[] | null> {
    if (target.users.insertAll === undefined) return null
    const all: ({ readonly record: ArrivingUser } & Arrived)[] = []
    for (const { record, digest } of batch) {
      if (record.type !== 'user') return null
      const arrived = arrivedUser(this.#needs, record, { digest, ...origin }, null)
      if ('objection' in arrived) return null
      all.push({ record, ...arrived })
    }
    try {
      if (!(await target.users.insertAll(all.map(({ user }) => user)))) return null
    } catch (thrown) {
      if (thrown instanceof Unavailable) throw thrown
      return null // alone, each gets its reason
    }
    const logins = (await this.#importNewLogins(target, all)) ? 'stored' : 'new'
    return await settled(
      all.map(({ record, user, remarks }) =>
        unlessRefused(record, () => this.#importBelongings(target, record, { user, remarks }, logins)),
      ),
    )
  }

  /** Stores the sessions of new users by a few writes; `false` if that is not possible. Then each is stored alone. */
  async #importNewLogins(
    { sessions, expiringMarks }: ImportTarget,
    all: readonly { readonly record: ArrivingUser; readonly user: User }[],
  ): Promise<boolean> {
    if (sessions?.putAll === undefined || expiringMarks.addAll === undefined) return false
    const each = all.flatMap(({ record, user }) => this.#chosenOf(record).map((session) => sessionOf(session, user)))
    try {
      for (let at = 0; at < each.length; at += maxTogether) {
        const some = each.slice(at, at + maxTogether)
        await sessions.putAll(some)
        await expiringMarks.addAll(some.map(({ digest, endsAt }) => ({ id: importedSession(digest), until: endsAt })))
      }
      return true
    } catch (thrown) {
      if (thrown instanceof Unavailable) throw thrown
      return false
    }
  }

  async #importEnd({ expiringMarks }: ImportTarget, { id, until }: ArrivingEnd): Promise<Outcome> {
    if (until <= this.#needs.clock()) return { counted: {}, problem: null }
    await expiringMarks.add(id, until)
    return { counted: { endedIds: 1 }, problem: null }
  }

  async #importUser(target: ImportTarget, record: ArrivingUser, origin: Origin): Promise<Outcome> {
    for (let tries = 0; tries < maxTries; tries++) {
      const id = arrivedId(this.#needs, record)
      const existing = id === null ? null : await target.users.find(id)
      const mark = existing && importMark(existing, record.credentials !== null)
      if (existing !== null && mark?.digest === origin.digest) {
        const sessions = await this.#importLogins(target, record, existing, 'known')
        const problems = [...(record.lacks ?? []), ...sessions.remarks]
        return outcomeOf(record, { unchanged: 1, sessions: sessions.count }, problems)
      }
      if (existing !== null && mark === null) {
        return refused(record, 'a user who was not imported has this id')
      }
      if (mark?.isChanged) {
        return refused(record, 'it has changed in the source, and the user has changed here: the user stays as here')
      }
      if (existing === null && origin.mayBeDeleted && (await wasDeleted(target, record))) {
        return refused(record, 'the user was deleted here')
      }
      const written = await writeArrived(target.users, arrivedUser(this.#needs, record, origin, existing), existing)
      if (written === 'stale') continue
      if ('objection' in written) return refused(record, written.objection)
      return await this.#importBelongings(target, record, written, existing === null ? 'new' : 'known')
    }
    return refused(record, 'the user was changed here again and again meanwhile')
  }

  /** Of a user that is stored. */
  async #importBelongings(target: ImportTarget, record: ArrivingUser, { user, remarks }: Arrived, logins: Logins) {
    const sessions = await this.#importLogins(target, record, user, logins)
    const counted = {
      [logins === 'known' ? 'replaced' : 'stored']: 1,
      links: user.oauthAccounts.length,
      sessions: sessions.count,
      unprovedPasswords: user.passwordHash !== null && !user.isOwnerProved ? 1 : 0,
    }
    return outcomeOf(record, counted, [...remarks, ...sessions.remarks])
  }

  /** The values of the record that no two users may share. */
  #keysOf({ record }: Arrival): readonly string[] {
    if (record.type !== 'user') return []
    const { fieldRules, parseEmail } = this.#needs
    const parsed = parseEmail(record.email)
    const values = Object.entries(record.fields).map(([name, value]) => {
      const field = fieldRules.fields.get(name)
      return field === undefined || typeof value !== 'string' ? null : [name, keyOf(field, value)]
    })
    return [
      `id ${record.id}`,
      ...('email' in parsed ? [`email ${emailKey(parsed.email)}`] : []),
      ...record.accounts.map((account) => `account ${accountKey(account)}`),
      ...values.filter((one) => one !== null && one[1] !== null).map((one) => `field ${one?.join(' ')}`),
    ]
  }

  /** A session that an earlier import has brought may have been ended here since: it is never brought again. */
  async #importLogins(target: ImportTarget, record: ArrivingUser, user: User, logins: Logins) {
    const { sessions, expiringMarks, loginTimes } = target
    if (record.lastLoginAt !== null) await loginTimes.recordLogin(user.id, record.lastLoginAt)
    const live = this.#liveOf(record)
    // The file has brought those that were not ended.
    const isKnown = record.credentials === null && user.imported?.earlier !== undefined
    if (live.length === 0 || isKnown) return { count: 0, remarks: [] }
    if (sessions === null) {
      return {
        count: 0,
        remarks: [`lacks ${live.length} sessions: this command cannot reach the store of the sessions`],
      }
    }
    const chosen = this.#chosenOf(record)
    const isNew = logins === 'new'
    let count = logins === 'stored' ? chosen.length : 0
    let refused = 0
    for (const session of logins === 'stored' ? [] : chosen) {
      const mark = importedSession(session.digest)
      if (!isNew && (await expiringMarks.has(mark))) continue
      // A killed import may have stored it without its mark.
      const isThere = !isNew && (await sessions.find(session.digest)) !== null
      const isStored = isThere || (await isAccepted(sessions.put(sessionOf(session, user))))
      if (isStored) await expiringMarks.add(mark, session.endsAt)
      else refused++
      if (isStored && !isThere) count++
    }
    const left = live.length - chosen.length
    const remarks = [
      ...(left > 0 ? [`lacks ${left} sessions: a user may have ${maxSessions}`] : []),
      ...(refused > 0 ? [`lacks ${refused} sessions: the store has refused them`] : []),
    ]
    return { count, remarks }
  }

  #liveOf({ sessions }: ArrivingUser): readonly ArrivingSession[] {
    const now = this.#needs.clock()
    return sessions.filter(({ endsAt }) => endsAt > now)
  }

  #chosenOf(record: ArrivingUser): readonly ArrivingSession[] {
    return [...this.#liveOf(record)].sort((one, other) => +other.createdAt - +one.createdAt).slice(0, maxSessions)
  }
}

/** Whether a user of another system was deleted here. A file may be a backup, to bring somebody back. */
async function wasDeleted({ expiringMarks }: ImportTarget, { id, credentials }: ArrivingUser): Promise<boolean> {
  return credentials === null && (await expiringMarks.has(deletedImport(parseUserId(id) ?? id)))
}

/** Whether a store has taken a value. Throws `Unavailable`. */
async function isAccepted(write: Promise<void>): Promise<boolean> {
  try {
    await write
    return true
  } catch (thrown) {
    if (thrown instanceof Unavailable) throw thrown
    return false
  }
}

function sessionOf({ generation, ...session }: ArrivingSession, user: User) {
  return {
    ...session,
    userId: user.id,
    generation: generation ?? user.imported?.generation ?? user.sessions.generation,
  }
}

async function unlessRefused(record: ArrivingUser, work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof Unavailable) throw thrown
    return refused(record, `the store has refused it: ${thrown instanceof Error ? thrown.message : thrown}`)
  }
}

function outcomeOf({ id, email }: ArrivingUser, counted: Partial<ImportCounts>, problems: readonly string[]): Outcome {
  return { counted, problem: problems.length === 0 ? null : { id, email, isStored: true, problems } }
}

function refused(
  { id, email }: { readonly id: string | null; readonly email: string | null },
  reason: string,
): Outcome {
  return { counted: { refused: 1 }, problem: { id, email, isStored: false, problems: [reason] } }
}

async function* batches(arrivals: AsyncIterable<Arrival>, size: number): AsyncGenerator<readonly Arrival[]> {
  let batch: Arrival[] = []
  for await (const arrival of arrivals) {
    batch.push(arrival)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Does all at once, but those that may want the same key in their order, so that the first of them gets it at each import. */
async function inTurn(
  batch: readonly Arrival[],
  keysOf: (arrival: Arrival) => readonly string[],
  work: (arrival: Arrival) => Promise<Outcome>,
): Promise<readonly Outcome[]> {
  const last = new Map<string, Promise<unknown>>()
  const outcomes = batch.map((arrival) => {
    const keys = keysOf(arrival)
    const before = Promise.all(keys.map((key) => last.get(key)))
    const outcome = before.then(() => work(arrival))
    for (const key of keys) last.set(key, outcome)
    return outcome
  })
  return await settled(outcomes)
}

/** The outcomes of all, which have ended: nothing is written after an error was thrown. */
async function settled(outcomes: readonly Promise<Outcome>[]): Promise<readonly Outcome[]> {
  await Promise.allSettled(outcomes)
  return await Promise.all(outcomes)
}
