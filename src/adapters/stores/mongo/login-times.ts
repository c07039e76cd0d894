import type { LoginTimes } from '../../../application/ports/stores/login-times.ts'
import type { Connection } from './connection/connection.ts'
import { literal } from './documents.ts'

const present = { removed: { $exists: false } } as const

/** A field of the user document. The version of the user stays, so the login makes no other write stale. */
export function mongoLoginTimes({ users, run }: Connection): LoginTimes {
  return {
    recordLogin: (userId, at) =>
      run(async () => {
        await users.updateOne({ _id: literal(userId), ...present }, { $max: { lastLoginAt: at } })
      }),

    lastLogin: (userId) =>
      run(async () => {
        const found = await users.findOne({ _id: literal(userId), ...present }, { projection: { lastLoginAt: 1 } })
        return found?.lastLoginAt ?? null
      }),
  }
}
