const lifeMs = 3_600_000

/** Caches the result of `find`. Calls `find` again when the result is too old, or after a failure. */
export function remembered<T>(clock: () => Date, find: () => Promise<T>): () => Promise<T> {
  let latest: Promise<T> | null = null
  let begunAt = 0

  return () => {
    const now = clock().getTime()
    if (latest !== null && now - begunAt < lifeMs) return latest
    const found = find()
    found.catch(() => {
      if (latest === found) latest = null
    })
    begunAt = now
    latest = found
    return found
  }
}
