/** The answers of the service that the console shows. */

/** Of `POST /users/search`. */
export interface Found {
  readonly id: string
  readonly email: string
  readonly is_active: boolean
  readonly is_superuser: boolean
  readonly is_verified: boolean
  readonly created_at?: string
  readonly last_login?: string | null
}

export interface FoundPage {
  readonly items: readonly Found[]
  readonly next: string | null
}

/** Of `GET /admin/deliveries`, and of the details of a person. */
export interface Delivery {
  readonly id: string
  readonly type: string
  readonly sink: string | null
  readonly state: 'dead' | 'waiting'
  readonly user_id: string | null
  /** `null` for a request that was not tried, or if the user is gone. */
  readonly email: string | null
  readonly at: string
  readonly attempts: number
  readonly reason: string | null
}

export interface Session {
  readonly id: string
  readonly created_at: string
  readonly last_used_at: string
  readonly network: string | null
  readonly browser: string | null
  readonly system: string | null
  readonly level: 1 | 2
}

/** Of `GET /users/{id}/details`. */
export interface Details extends Explanation {
  readonly user: Found
  readonly created_at: string
  readonly last_login: string | null
  /** `null` for an active user. */
  readonly deactivation: { readonly reason: string | null; readonly until: string | null } | null
  readonly is_invitable: boolean
  readonly has_password: boolean
  readonly sessions: readonly Session[]
  readonly oauth_accounts: readonly { readonly oauth_name: string; readonly account_email: string }[]
  readonly factors: {
    readonly totp: { readonly added_at: string } | null
    readonly passkeys: readonly { readonly name: string; readonly added_at: string }[]
    readonly recovery_codes: number
    readonly reset_at: string | null
  }
  readonly tokens: readonly { readonly purpose: string; readonly expires_at: string }[]
  readonly deliveries: readonly Delivery[]
}

/** Of `POST /users/explain`. */
export interface Explanation {
  readonly can_log_in: boolean
  readonly causes: readonly {
    readonly code: string
    /** In English, for those who have only the command line. */
    readonly text: string
    readonly detail: string | null
    readonly until: string | null
    readonly count: number
  }[]
  readonly refused_logins: readonly { readonly at: string; readonly reason: string; readonly detail: string | null }[]
  readonly limits: readonly {
    readonly limit: string
    readonly purpose: string | null
    readonly of: 'strangers' | 'devices' | 'client'
    readonly points: number
    readonly most: number
    readonly is_reached: boolean
    readonly until: string
  }[]
}
