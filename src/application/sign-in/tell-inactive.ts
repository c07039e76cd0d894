import { nobody } from '../../domain/actor.ts'
import { accountEvent } from '../../domain/events.ts'
import type { User } from '../../domain/user.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds, type RequestFacts } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { PasswordHasher } from '../ports/password-hasher.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { Timers } from '../ports/timers.ts'

/** The needs that a login has not. */
export interface NoticeNeeds {
  expiringMarks: Pick<ExpiringMarks, 'add' | 'has'>
  timers: Pick<Timers, 'pause'>
  /** Called when an attempt was not examined or told. Must not throw. */
  warnOfUntold: (untold: Untold) => void
}

export interface Untold {
  readonly err: unknown
  readonly requestId: string
}

interface Needs extends MetadataNeeds, NoticeNeeds {
  hasher: PasswordHasher
  changeUser: ChangeUser
  eventHandlers: Pick<EventHandlers, 'handles'>
}

interface Attempt extends RequestFacts {
  /** The deactivated user, as the login has read it. */
  readonly user: User
  readonly password: string
}

/** Further attempts are dropped while this many wait, so that guessing costs little. */
const mostWaiting = 10
/** The answer to the login is sent within it. */
const pauseMilliseconds = 1000
const restMilliseconds = 86_400_000

/**
 * Tells the owner of a deactivated account who entered the right password, at most once a day. The answer to the login is that
 * to a wrong password, after the same work: this runs later, for right and wrong passwords alike, one attempt after another.
 */
export class TellInactive {
  readonly #needs: Needs
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /** It neither waits nor throws. */
  execute(attempt: Attempt): void {
    const { eventHandlers, timers, warnOfUntold } = this.#needs
    if (this.#waiting >= mostWaiting || !eventHandlers.handles('inactive_sign_in')) return
    this.#waiting++
    this.#last = Promise.all([timers.pause(pauseMilliseconds), this.#last])
      .then(() => this.#tell(attempt))
      .catch((err: unknown) => warnOfUntold({ err, requestId: attempt.requestId }))
      .finally(() => {
        this.#waiting--
      })
  }

  async #tell({ user, password, ...request }: Attempt): Promise<void> {
    const { hasher, expiringMarks, changeUser, clock } = this.#needs
    const id = `told-inactive:${user.id}`
    if (await expiringMarks.has(id)) return
    if ((await hasher.verify(password, user.passwordHash, request.caller?.client ?? null)) === 'mismatch') return
    await expiringMarks.add(id, new Date(clock().getTime() + restMilliseconds))
    await changeUser.execute(user.id, (fresh) => {
      // Neither a user who is active by now nor a new password is told.
      if (fresh.isActive || fresh.passwordHash !== user.passwordHash) return { type: 'keep' }
      const event = accountEvent('inactive_sign_in', fresh, eventMetadata(this.#needs, request, nobody))
      return { type: 'replace', user: fresh, events: [event] }
    })
  }
}
