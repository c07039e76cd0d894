import type { User } from '../../domain/user.ts'
import type { ExpiringMarks } from '../ports/stores/expiring-marks.ts'
import type { LoginTimes } from '../ports/stores/login-times.ts'
import type { SessionStore } from '../ports/stores/session-store.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

type Found = Promise<Pick<User, 'id'> | null>

/** The ports that an import writes to. */
export interface ImportTarget {
  readonly users: Pick<UserStore, 'find' | 'insert' | 'insertAll' | 'replace'> & {
    findBy(...key: Parameters<UserStore['findBy']>): Found
  }
  /** `null` if the sessions cannot be reached from here: then they are not imported. */
  readonly sessions: Pick<SessionStore, 'put' | 'putAll' | 'find'> | null
  readonly expiringMarks: Pick<ExpiringMarks, 'add' | 'addAll' | 'has'>
  readonly loginTimes: Pick<LoginTimes, 'recordLogin'>
}
