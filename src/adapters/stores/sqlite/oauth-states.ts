import type { OAuthStateStore } from '../../../application/ports/stores/oauth-state-store.ts'
import type { UserId } from '../../../domain/ids.ts'
import type { OAuthFlow, OAuthState } from '../../../domain/oauth-account.ts'
import { bulk } from './bulk.ts'
import type { SqliteFile } from './file.ts'
import type { Statements } from './write/statements.ts'

interface StateRow {
  readonly digest: string
  readonly browser_digest: string
  readonly provider: string
  readonly flow: OAuthFlow
  readonly user_id: UserId | null
  readonly credential_id: string | null
  readonly code_verifier: string
  readonly nonce: string
  readonly redirect_uri: string
  readonly expires_at: number
}

/** Runs in the writer's thread. */
export function oauthStateWrites(db: Statements) {
  const put = db.prepare<[StateRow]>(
    `INSERT INTO oauth_states
       (digest, browser_digest, provider, flow, user_id, credential_id, code_verifier, nonce, redirect_uri, expires_at)
     VALUES
       (@digest, @browser_digest, @provider, @flow, @user_id, @credential_id, @code_verifier, @nonce, @redirect_uri,
        @expires_at)`,
  )
  const isFull = db.prepare<[number, number], unknown>(
    'SELECT 1 FROM oauth_states WHERE expires_at > ? LIMIT 1 OFFSET ?',
  )
  const take = db.prepare<[string, number], StateRow>(
    'DELETE FROM oauth_states WHERE digest = ? AND expires_at > ? RETURNING *',
  )
  const sweep = db.prepare<[number, number]>(
    `DELETE FROM oauth_states
     WHERE digest IN (SELECT digest FROM oauth_states WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
  )

  return {
    putOAuthState(state: OAuthState, maxOpen: number, now: number): 'stored' | 'full' {
      if (isFull.get(now, maxOpen - 1) !== undefined) return 'full'
      put.run(toRow(state))
      return 'stored'
    },
    takeOAuthState(digest: string, now: number): OAuthState | null {
      const row = take.get(digest, now)
      return row === undefined ? null : fromRow(row)
    },
    sweepOAuthStates: (now: number, limit: number): number => sweep.run(now, limit).changes,
  }
}

export function sqliteOAuthStates(file: SqliteFile, clock: () => Date): OAuthStateStore {
  const expired = file.query<[number], unknown>('SELECT 1 FROM oauth_states WHERE expires_at <= ? LIMIT 1')

  return {
    put: (state, maxOpen) => file.write('putOAuthState', state, maxOpen, clock().getTime()),
    take: (digest) => file.write('takeOAuthState', digest, clock().getTime()),

    async sweep(limit) {
      const now = clock().getTime()
      if (expired.get(now) === undefined) return 0
      return file.write('sweepOAuthStates', now, Math.min(limit, bulk))
    },
  }
}

function toRow(state: OAuthState): StateRow {
  return {
    digest: state.digest,
    browser_digest: state.browserDigest,
    provider: state.provider,
    flow: state.flow,
    user_id: state.userId,
    credential_id: state.credentialId,
    code_verifier: state.codeVerifier,
    nonce: state.nonce,
    redirect_uri: state.redirectUri,
    expires_at: state.expiresAt.getTime(),
  }
}

function fromRow(row: StateRow): OAuthState {
  return {
    digest: row.digest,
    browserDigest: row.browser_digest,
    provider: row.provider,
    flow: row.flow,
    userId: row.user_id,
    credentialId: row.credential_id,
    codeVerifier: row.code_verifier,
    nonce: row.nonce,
    redirectUri: row.redirect_uri,
    expiresAt: new Date(row.expires_at),
  }
}
