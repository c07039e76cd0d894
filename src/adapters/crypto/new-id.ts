import { v7 } from 'uuid'
import type { NewId } from '../../domain/ids.ts'

/** A UUID of version 7 (RFC 9562 section 5.7): ids of this process sort by age. */
export function newId(): NewId {
  return v7() as NewId // safe: a UUID, lower-case with dashes
}
