import { setTimeout as delay } from 'node:timers/promises'

/** The timers of this process. */
export const timers = {
  pause: (milliseconds: number): Promise<void> => delay(milliseconds),

  /** Calls `work` at this interval until the returned function is called. */
  every(milliseconds: number, work: () => void): () => void {
    const timer = setInterval(work, milliseconds)
    return () => clearInterval(timer)
  },
}

/** Settles like `work`, or resolves to `'late'` after this time. */
export async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T | 'late'> {
  const end = new AbortController()
  const late = delay(milliseconds, 'late' as const, { signal: end.signal })
  late.catch(() => undefined) // `work` was faster, so the delay was aborted
  try {
    return await Promise.race([work, late])
  } finally {
    end.abort()
  }
}

/** Settles like `work`, or resolves when the signal is aborted. It leaves no listener at the signal. */
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
