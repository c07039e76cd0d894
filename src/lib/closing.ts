/** Settles like `work`. If it fails, `close` is called first, so that nothing stays open. */
export async function orClose<T>(work: Promise<T>, close: () => Promise<unknown>): Promise<T> {
  try {
    return await work
  } catch (thrown) {
    await close()
    throw thrown
  }
}

/** Closes all, and then throws the first fault. */
export async function closeAll(...all: readonly { close(): Promise<unknown> }[]): Promise<void> {
  for (const one of await Promise.allSettled(all.map((one) => one.close())))
    if (one.status === 'rejected') throw one.reason
}
