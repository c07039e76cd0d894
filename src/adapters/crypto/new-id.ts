import { v7 } from 'uuid'

/** A UUID of version 7 (RFC 9562 section 5.7): ids of this process sort by age. */
export function newId(): string {
  return v7()
}
