import { v7 } from 'uuid'

/** A UUID of version 7 (RFC 9562 section 5.7): made later in this process, sorted later. */
export function newId(): string {
  return v7()
}
