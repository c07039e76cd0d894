import type { TokenRequests } from '../../../../application/ports/stores/token-requests.ts'
import type { Writes } from '../protocol.ts'
import type { Read } from './reader.ts'

export function sqliteTokenRequests(read: Read, writes: Writes['tokenRequests']): TokenRequests {
  return {
    ...writes,

    /** Most leases find nothing, so a read comes first, because it takes no lock. */
    async lease(now, limit, leaseSeconds) {
      const ready = 'SELECT 1 FROM token_requests WHERE ready_at <= ? LIMIT 1'
      if (read((sql) => sql<[number]>(ready).get(now.getTime())) === undefined) return []
      return await writes.lease(now, limit, leaseSeconds)
    },
  }
}
