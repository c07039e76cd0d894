import type { Collection, Document, Filter } from 'mongodb'
import { latest } from './connection.ts'

/**
 * Tells whether a collection has reached a bound. It reads before the insert, and not with it: concurrent callers may
 * exceed the bound by their number.
 *
 * @param counted the documents that count
 */
export function fullness<D extends Document>(
  collection: Collection<D>,
  counted: () => Filter<D>,
): (bound: number) => Promise<boolean> {
  let counting: Promise<number> | null = null

  /** Concurrent callers share a count: a flood of refused requests would overload the server with counts of thousands. */
  function count(): Promise<number> {
    counting ??= collection.countDocuments(counted(), latest).finally(() => {
      counting = null
    })
    return counting
  }

  // The estimate costs nothing, but includes expired documents and may be wrong after the server was killed.
  return async (bound) => (await collection.estimatedDocumentCount()) >= bound && (await count()) >= bound
}
