import type { User } from '../../domain/user.ts'
import type { TenantTexts } from '../ports/stores/tenant-texts.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Timers } from '../ports/timers.ts'
import type { ResealUser } from './reseal-user.ts'
import { type Rotation, type RotationProgress, rotationName } from './rotation.ts'

interface Needs {
  users: Pick<UserStore, 'list'>
  tenantTexts: TenantTexts
  resealUser: ResealUser
  /** The name of the text with the signing keys. */
  keySetName: string
  /** The signing keys, sealed with the first secret; `null` if they are, or if no secret opens them. */
  resealedKeys: (stored: string) => string | null
  /** The mark of the first secret. */
  mark: string
  timers: Timers
  clock: () => Date
}

const pageSize = 500
const writesAtOnce = 16
const busyMilliseconds = 1000

/** Seals everything anew with the first secret, and binds the users to it. */
export class ResealEverything {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * After an interruption it goes on with the next user. A repetition moves the end of the former secret only if a process has sealed
   * with it since. Returns `null` if another command does the same.
   *
   * @param told receives the number of users so far, after each page
   */
  async execute({ bound, text, progress, current }: Rotation, told: (users: number) => void) {
    const { users, tenantTexts, mark: to, clock } = this.#needs
    await this.#resealSigningKeys()
    let known = text
    const doneAt = current?.doneAt ?? null
    const begun = progress?.to === to && progress.doneAt === null ? progress : null
    let now: RotationProgress = begun ?? {
      to,
      from: current?.from ?? bound ?? to,
      after: null,
      users: 0,
      resealed: 0,
      doneAt,
    }
    const note = async (next: RotationProgress): Promise<boolean> => {
      const written = JSON.stringify(next)
      const isAlone = await tenantTexts.exchange(rotationName, known, written)
      known = written
      now = next
      return isAlone
    }
    // Otherwise a command that is interrupted after the mark has moved would leave no trace of the former secret.
    if (begun === null && doneAt === null && !(await note(now))) return null
    for (;;) {
      const { items, next: after } = await users.list(pageSize, now.after)
      const sums = { users: now.users + items.length, resealed: now.resealed + (await this.#reseal(items)) }
      const wasUnused = sums.resealed === 0 ? doneAt : null
      if (after !== null) {
        if (!(await note({ ...now, ...sums, after, doneAt: wasUnused }))) return null
        told(sums.users)
        continue
      }
      // The mark moves once everything is sealed. Until then, a process without the first secret may start.
      if (bound !== null && bound !== to && !(await tenantTexts.exchange('secret', bound, to))) return null
      const end = { ...now, ...sums, after: null, doneAt: wasUnused ?? clock().toISOString() }
      return (await note(end)) ? { ...sums, doneAt: end.doneAt } : null
    }
  }

  /** Returns the number of users who had tokens or second factors by a former secret. */
  async #reseal(page: readonly User[]): Promise<number> {
    const { resealUser, timers } = this.#needs
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

  async #resealSigningKeys(): Promise<void> {
    const { tenantTexts, keySetName, resealedKeys } = this.#needs
    for (;;) {
      const stored = await tenantTexts.read(keySetName)
      const anew = stored && resealedKeys(stored)
      if (anew === null || (await tenantTexts.exchange(keySetName, stored, anew))) return
    }
  }
}
