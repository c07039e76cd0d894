import type { OAuthState } from '../../../../domain/oauth-state.ts'
import type { InThread, Writes } from '../protocol.ts'
import { type Statements, sweepExpired } from '../statements.ts'

/** The whole port: `take` reads and removes, so the event loop reads nothing. */
export function oauthStateWrites(sql: Statements): InThread<Writes['oauthStates']> {
  return {
    put(now, state, maxOpen) {
      const isFull = sql<[number, number]>('SELECT 1 FROM oauth_states WHERE expires_at > ? LIMIT 1 OFFSET ?')
      if (isFull.get(now, maxOpen - 1) !== undefined) return 'full'
      const put = sql<[string, string, number]>('INSERT INTO oauth_states (digest, state, expires_at) VALUES (?, ?, ?)')
      put.run(state.digest, JSON.stringify(state), state.expiresAt.getTime())
      return 'stored'
    },

    take(now, digest) {
      const take = sql<[string, number], { state: string }>(
        'DELETE FROM oauth_states WHERE digest = ? AND expires_at > ? RETURNING state',
      )
      const row = take.get(digest, now)
      if (row === undefined) return null
      const state: OAuthState = JSON.parse(row.state)
      return { ...state, expiresAt: new Date(state.expiresAt) }
    },

    sweep: (now, limit) => sweepExpired(sql, 'oauth_states', 'digest', now, limit),
  }
}
