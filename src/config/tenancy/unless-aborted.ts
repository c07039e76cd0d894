/** Settles like `work`, or resolves when the signal is aborted. A lasting signal keeps no listener of it. */
export async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const onAbort = (): void => resolve()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', onAbort)
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
