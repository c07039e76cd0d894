import { Unavailable } from '../../domain/refusal.ts'
import type { StoreLifecycle, StoreRole } from './store-backend.ts'

/** A store that does not answer, and its roles. */
export interface FailingStore {
  readonly store: string
  readonly roles: readonly StoreRole[]
}

interface Opened {
  readonly kind: string
  readonly handle: StoreLifecycle
  readonly roles: readonly StoreRole[]
}

interface Watched extends Opened {
  isReady: boolean
  /** The store was ready before, and did not answer the last request. */
  isLost: boolean
}

interface Needs {
  readonly log: Readonly<Record<'error' | 'info', (fields: object, message: string) => void>>
  /** Called when a store that was down at the start turns out to be unsuitable. */
  readonly failed: (fault: unknown) => void
}

const retryMilliseconds = 1000
const pingMemoryMilliseconds = 1000

/** Prepares stores, and logs the start and the end of each outage. Failed requests have lines of their own. */
export function storeWatch(opened: readonly Opened[], { log, failed }: Needs) {
  const all: readonly Watched[] = opened.map((one) => ({ ...one, isReady: false, isLost: false }))
  const retries = new Set<NodeJS.Timeout>()
  let isClosed = false
  let lastPing: { at: number; failing: Promise<readonly FailingStore[]> } | null = null

  async function firstAttempt(store: Watched, prepare: (store: Opened) => Promise<void>): Promise<void> {
    const attempt = async (): Promise<void> => {
      await prepare(store)
      store.isReady = true
    }
    try {
      await attempt()
    } catch (err) {
      if (!(err instanceof Unavailable)) throw err
      log.error({ err, store: store.kind, roles: store.roles }, 'a store is down; trying again each second')
      retry(store, attempt, 'the store answers now')
    }
  }

  /** Repeats `attempt` each second until it succeeds, and logs the success. */
  function retry(store: Opened, attempt: () => Promise<void>, success: string): void {
    const timer = setTimeout(async () => {
      retries.delete(timer)
      try {
        await attempt()
        log.info({ store: store.kind, roles: store.roles }, success)
      } catch (err) {
        if (isClosed) return
        if (err instanceof Unavailable) retry(store, attempt, success)
        else failed(err)
      }
    }, retryMilliseconds).unref()
    retries.add(timer)
  }

  function lost(store: Watched, err: unknown): void {
    if (isClosed || !store.isReady || store.isLost || !(err instanceof Unavailable)) return
    store.isLost = true
    log.error({ err, store: store.kind, roles: store.roles }, 'a store does not answer')
    const ping = async (): Promise<void> => {
      await store.handle.ping()
      store.isLost = false
    }
    retry(store, ping, 'the store answers again')
  }

  async function ping(): Promise<readonly FailingStore[]> {
    const answers = await Promise.allSettled(
      all.map((store) =>
        store.isReady ? store.handle.ping() : Promise.reject(new Unavailable(`${store.kind} is not ready yet`)),
      ),
    )
    return all.flatMap((store, at) => {
      const answer = answers[at]
      if (answer?.status !== 'rejected') return []
      lost(store, answer.reason)
      return [{ store: store.kind, roles: store.roles }]
    })
  }

  return {
    /**
     * Calls `prepare` once for every store and resolves; a store that is down is tried again each second. Rejects with
     * `Unsuitable`.
     */
    async prepare(prepare: (store: Opened) => Promise<void>) {
      const attempts = await Promise.allSettled(all.map((store) => firstAttempt(store, prepare)))
      for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason
    },
    /** For an insured limiter of the store. */
    limiterIsDown(store: Opened, err: Unavailable, probe: () => Promise<void>) {
      if (isClosed) return
      log.error({ err, store: store.kind }, 'limits are counted in this process until the store answers')
      retry(store, probe, 'limits are counted in the store again')
    },
    failing() {
      const now = performance.now() // a monotonic clock
      if (lastPing === null || now - lastPing.at > pingMemoryMilliseconds) lastPing = { at: now, failing: ping() }
      return lastPing.failing
    },
    /** The states at the last requests to the stores. It makes no request of its own. */
    storeStates: () =>
      all.map(({ kind, roles, isReady, isLost }) => ({ store: kind, roles, isDown: !isReady || isLost })),
    /** Whether the store of this role was prepared, and the stores are not closed. */
    isReady: (role: StoreRole) => !isClosed && all.some(({ roles, isReady }) => isReady && roles.includes(role)),
    async close() {
      isClosed = true
      for (const timer of retries) clearTimeout(timer)
      await Promise.allSettled(all.map(({ handle }) => handle.close()))
    },
  }
}
