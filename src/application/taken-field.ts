import type { User } from '../domain/user.ts'
import { type UniqueKey, unique } from '../domain/user-record.ts'

interface Users {
  findBy(key: UniqueKey): Promise<Pick<User, 'id'> | null>
}

/** The unique field of `user` with a value that another user has, after a write has found one. */
export async function takenField(users: Users, user: User): Promise<string> {
  const keys = Object.entries(user.fields.keys)
  for (const [field, key] of keys) {
    const holder = await users.findBy(unique.field(field, key))
    if (holder !== null && holder.id !== user.id) return field
  }
  return keys[0]?.[0] ?? '' // the other user has just given it up
}
