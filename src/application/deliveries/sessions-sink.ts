import { emailKey } from '../../domain/email.ts'
import type { AccountEvent, AccountEventType } from '../../domain/events.ts'
import type { UserId } from '../../domain/ids.ts'
import { tokenPurposes } from '../../domain/one-time-token.ts'
import { isAlive } from '../../domain/user.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import type { TokenStore } from '../ports/stores/token-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'
import type { Sink } from './sink.ts'

export interface SessionsNeeds {
  users: UserStore
  sessions: SessionStore
  tokens: TokenStore
}

const handled: readonly AccountEventType[] = ['updated', 'verified', 'password_reset', 'deleted']
const sessionsAtOnce = 32
const sessionsPerPage = 1000
/** Further ended sessions stay until they expire. The record of the user refuses them. */
const mostPages = 100

/** Removes the sessions and tokens that a change has ended. The record of the user refuses them already. */
export class SessionsSink implements Sink {
  readonly name = 'sessions'
  readonly #needs: SessionsNeeds

  constructor(needs: SessionsNeeds) {
    this.#needs = needs
  }

  handles(type: AccountEventType): boolean {
    return handled.includes(type)
  }

  async take(event: AccountEvent, userId: UserId): Promise<void> {
    const { sessions, tokens } = this.#needs
    if (event.type === 'deleted') {
      await Promise.all([sessions.removeAllOf(userId), tokens.removeAllOf(userId)])
      return
    }
    const endedSessions = event.type === 'password_reset' || (event.type === 'updated' && event.sessionsEnded)
    if (endedSessions) await this.#removeDeadSessions(userId)
    if (event.type === 'updated' && event.changes.email !== undefined) await this.#removeDeadTokens(userId)
    if (event.type === 'verified') await this.#removeSpentToken(userId, event.at)
  }

  /**
   * A verification token is bound to the address. So it could verify the user again after a superuser has withdrawn the
   * verification.
   */
  async #removeSpentToken(userId: UserId, spentAt: Date): Promise<void> {
    const { tokens } = this.#needs
    const token = await tokens.current('verify_email', userId)
    if (token !== null && token.createdAt <= spentAt) await tokens.remove(token.purpose, token.digest)
  }

  /** Tokens for a former address would become valid again when the user returns to that address. */
  async #removeDeadTokens(userId: UserId): Promise<void> {
    const { tokens, users } = this.#needs
    for (const purpose of tokenPurposes) {
      const token = await tokens.current(purpose, userId)
      const user = await users.find(userId)
      // Not `stands`: a token for a new address is stored before the generation of its record.
      if (token === null || (user !== null && token.fact.email === emailKey(user.email))) continue
      await tokens.remove(purpose, token.digest)
    }
  }

  /**
   * Removes only ended sessions: the event may come late, after a new login. It reads the user after the sessions, so
   * no session is newer than the record by which it is judged. It works in batches: a user may have thousands of sessions,
   * and a program that logs in without pause has even more.
   */
  async #removeDeadSessions(userId: UserId): Promise<void> {
    const { sessions, users } = this.#needs
    for (let page = 0; page < mostPages; page++) {
      const listed = await sessions.listOf(userId, sessionsPerPage)
      const user = await users.find(userId)
      const dead = listed.filter((session) => user === null || !isAlive(user, session))
      if (dead.length === 0) return
      for (let first = 0; first < dead.length; first += sessionsAtOnce) {
        await Promise.all(dead.slice(first, first + sessionsAtOnce).map(({ digest }) => sessions.remove(digest)))
      }
    }
  }
}
