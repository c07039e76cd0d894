import type { Shares } from '../../adapters/stores/store-backend.ts'

interface Held {
  readonly value: unknown
  holders: number
}

/** What the stores of one process have in common, each for as long as somebody holds it. */
export function openShares(): Shares {
  const held = new Map<string, Held>()

  return {
    lease<T>(key: string, open: () => T, close: (shared: T) => Promise<void>) {
      const one = held.get(key) ?? { value: open(), holders: 0 }
      held.set(key, one)
      one.holders++
      // Safe: by the promise of `Shares`, all who name this key mean the same type.
      const value = one.value as T
      let releasing: Promise<void> | undefined

      async function letGo(): Promise<void> {
        one.holders--
        if (one.holders > 0) return
        held.delete(key) // first: who comes while it closes is given a new one
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
