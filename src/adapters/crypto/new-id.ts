import { randomBytes, randomInt } from 'node:crypto'
import { v7 } from 'uuid'
import type { UserIds } from '../../application/ports/stores/user-ids.ts'
import { type IdKind, type NewId, numberedId, type UserId } from '../../domain/ids.ts'

/** A UUID of version 7 (RFC 9562 section 5.7): ids of this process sort by age. */
export function newId(): NewId {
  return v7() as NewId // safe: a UUID, lower-case with dashes
}

/** Makes the ids of new users. Only integers need the store. */
export function newUserIds(kind: IdKind, { next }: Pick<UserIds, 'next'>): () => Promise<UserId> {
  switch (kind) {
    case 'uuid':
      return async () => newId()
    case 'objectid':
      return async () => newObjectId()
    case 'integer':
      return async () => numberedId(await next())
  }
}

const ofProcess = randomBytes(5).toString('hex')
let count = randomInt(0x100_0000)

/** As the specification of MongoDB's ObjectId says: seconds, five random bytes of the process, and a counter that wraps. */
function newObjectId(): UserId {
  count = (count + 1) % 0x100_0000
  const seconds = Math.floor(Date.now() / 1000)
  return `${seconds.toString(16).padStart(8, '0')}${ofProcess}${count.toString(16).padStart(6, '0')}` as UserId // safe: 24 digits
}
