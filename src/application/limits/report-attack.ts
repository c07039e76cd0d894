import { nobody } from '../../domain/actor.ts'
import type { EmailKey } from '../../domain/email.ts'
import { accountEvent } from '../../domain/events.ts'
import { jsonId } from '../../domain/ids.ts'
import { unique } from '../../domain/user-record.ts'
import type { ChangeUser } from '../change-user.ts'
import { eventMetadata, type MetadataNeeds } from '../event-metadata.ts'
import type { EventHandlers } from '../ports/event-handlers.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** The attempt that reached the limit of an account. */
export interface Attack {
  readonly account: EmailKey
  readonly client: string | null
  readonly requestId: string
}

/** A line of the log, without the address. */
export interface AttackReport extends Omit<Attack, 'account'> {
  /** `null`: no user has the address. */
  /** A number if it is an integer. */
  readonly userId: string | number | null
}

interface Needs extends MetadataNeeds {
  limiter: Limiter
  keyRing: Pick<KeyRing, 'counterKey'>
  users: UserStore
  changeUser: ChangeUser
  eventHandlers: EventHandlers
  warnOfAttack: (report: AttackReport) => void
}

const intervalSeconds = 3600

/**
 * Reports an attacked account once an hour, whichever process calls it: a warning in the log, and an event if the account
 * exists and the event has a handler. The answers to callers do not wait for it.
 */
export class ReportAttack {
  readonly #needs: Needs
  constructor(needs: Needs) {
    this.#needs = needs
  }

  async execute({ account, client, requestId }: Attack): Promise<void> {
    const { limiter, keyRing, users, changeUser, eventHandlers, warnOfAttack } = this.#needs
    const reports = await limiter.add(`attack:${keyRing.counterKey(account)}`, 1, intervalSeconds)
    if (reports.points > 1) return

    const user = await users.findBy(unique.email(account))
    warnOfAttack({ userId: user && jsonId(user.id), client, requestId })
    if (user === null || !eventHandlers.handles('account_under_attack')) return
    await changeUser.execute(user.id, (fresh) => {
      const event = accountEvent('account_under_attack', fresh, eventMetadata(this.#needs, { requestId }, nobody))
      return { type: 'replace', user: fresh, events: [event] }
    })
  }
}
