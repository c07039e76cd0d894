import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { OAuthState } from '../../../domain/oauth-state.ts'
import type { Connection } from './connection/connection.ts'

const put = `
  INSERT INTO @oauth_states (digest, state, expires_at) SELECT $1, $2, $3
  WHERE NOT EXISTS (SELECT 1 FROM @oauth_states WHERE expires_at > $4 OFFSET $5 LIMIT 1)`

export function postgresOAuthStates({ one, change, sweep, now }: Connection): OAuthStateStore {
  return {
    async put(state, maxOpen) {
      const values = [state.digest, JSON.stringify(state), state.expiresAt, now(), maxOpen - 1]
      return (await change(put, values)) === 1 ? 'stored' : 'full'
    },

    async take(digest) {
      const take = 'DELETE FROM @oauth_states WHERE digest = $1 AND expires_at > $2 RETURNING state'
      const row = await one<{ state: string }>(take, [digest, now()])
      if (row === undefined) return null
      const state: OAuthState = JSON.parse(row.state)
      return { ...state, expiresAt: new Date(state.expiresAt) }
    },

    sweep: (limit) => sweep('oauth_states', 'digest', { where: 'expires_at <= $1', order: 'expires_at' }, now(), limit),
  }
}
