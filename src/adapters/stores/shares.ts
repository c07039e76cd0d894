import type { Shares } from './store-backend.ts'

interface Held {
  readonly value: unknown
  holders: number
}

/** Keeps each shared resource open as long as it has a holder. */
export function openShares(): Shares {
  const held = new Map<string, Held>()

  return {
    lease<T>(key: string, open: () => T, close: (shared: T) => Promise<void>) {
      const one = held.get(key) ?? { value: open(), holders: 0 }
      held.set(key, one)
      one.holders++
      // Safe: all holders of a key expect the same type, as `Shares` demands.
      const value = one.value as T
      let releasing: Promise<void> | undefined

      async function letGo(): Promise<void> {
        one.holders--
        if (one.holders > 0) return
        held.delete(key) // before it closes, so that the next holder opens a new one
        await close(value)
      }

      return {
        value,
        release() {
          releasing ??= letGo()
          return releasing
        },
      }
    },
  }
}
