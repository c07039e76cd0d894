import type { RefusedLogin, RefusedReason } from '../../domain/refused-login.ts'

/** A refused login as stores keep it. The time is in milliseconds since 1970. */
export type RefusedLoginJson = readonly [at: number, reason: RefusedReason, detail: string | null]

export const toJson = ({ at, reason, detail }: RefusedLogin): RefusedLoginJson => [at.getTime(), reason, detail]

/** The stored logins since `since`. */
export function fromJson(stored: readonly RefusedLoginJson[], since: Date): readonly RefusedLogin[] {
  return stored.map(([at, reason, detail]) => ({ at: new Date(at), reason, detail })).filter(({ at }) => at >= since)
}
