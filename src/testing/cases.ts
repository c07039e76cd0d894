import assert from 'node:assert/strict'
import type { StoreRole } from '../adapters/stores/store-backend.ts'
import type { PortName, StorePorts } from '../adapters/stores/store-ports.ts'
import type { IdKind } from '../domain/ids.ts'
import type { FixedClock } from './fixed-clock.ts'

/** The functions of a test runner: globals of Mocha and Jest, imports of `node:test` and Vitest (`afterAll`). */
export interface Runner {
  describe(title: string, body: () => void): unknown
  it(title: string, run: () => Promise<void>): unknown
  after(run: () => Promise<void>): unknown
}

/** A new, empty store, ready for use. Its time is `clock`'s. */
export interface OpenedStore {
  readonly store: StorePorts
  /** The time of the store. Only a `limiter` uses the real time. */
  readonly clock: FixedClock
  /** Another handle on the same storage, with connections of its own where the technology has connections. */
  readonly second: StorePorts
  /** Closes every handle, and drops the storage. */
  close(): Promise<void>
}

export interface StoreUnderProof {
  readonly roles: readonly StoreRole[]
  /** @param ids the kind of the users' ids, for a store whose tables depend on it. Default: `uuid` */
  open(ids?: IdKind): Promise<OpenedStore>
  /** `false` if the store expires records by its own clock: then `sweep` may find nothing. */
  readonly sweeps?: boolean
  /** The ports that it offers beside those that its roles need, such as `limiter`. */
  readonly ports?: readonly PortName[]
}

/** The stores and helpers of one case. `Part` is the part of the store that the suite proves. */
export interface Scene<Part> {
  readonly store: Part
  readonly second: Part
  readonly clock: FixedClock
  /** The store's time, this many seconds from now. */
  inSeconds(seconds: number): Date
  /** Calls `act` for all items at once, on both handles in turn. */
  atOnce<Item, Result>(
    items: readonly Item[],
    act: (handle: Part, item: Item, index: number) => Promise<Result>,
  ): Promise<Result[]>
}

type AddCase<Part> = (title: string, act: (scene: Scene<Part>) => Promise<void>) => void

/** Adds the cases of one suite to the runner. */
export interface Cases<Part> {
  /** Adds a case that runs on the store of the suite. */
  readonly on: AddCase<Part>
  /** Adds a case that runs on an untouched store. */
  readonly onNew: AddCase<Part>
  /** Sweeps five expired records, at most three at a time. */
  assertSwept(store: { sweep(limit: number): Promise<number> }): Promise<void>
}

/**
 * @param partOf the part of the store that the suite proves
 * @param prepare runs before each case
 */
export function casesOf<Part>(
  { it, after }: Runner,
  { open, sweeps = true }: StoreUnderProof,
  partOf: (store: StorePorts) => Part | undefined,
  prepare: (part: Part) => Promise<void>,
): Cases<Part> {
  function part(store: StorePorts): Part {
    const found = partOf(store)
    assert.ok(found, 'the store lacks a port that it should have')
    return found
  }

  async function play({ store, clock, second }: OpenedStore, act: (scene: Scene<Part>) => Promise<void>) {
    const handles = [part(store), part(second)] as const
    await prepare(handles[0])
    await act({
      store: handles[0],
      second: handles[1],
      clock,
      inSeconds: (seconds) => new Date(clock().getTime() + seconds * 1000),
      atOnce: (items, each) =>
        Promise.all(items.map((item, index) => each(index % 2 ? handles[0] : handles[1], item, index))),
    })
  }

  let shared: Promise<OpenedStore> | undefined
  after(async () => {
    await (await shared)?.close()
  })

  return {
    on(title, act) {
      it(title, async () => {
        shared ??= open()
        await play(await shared, act)
      })
    },

    onNew(title, act) {
      it(title, async () => {
        const opened = await open()
        try {
          await play(opened, act)
        } finally {
          await opened.close()
        }
      })
    },

    async assertSwept(store) {
      const swept = [await store.sweep(3), await store.sweep(3), await store.sweep(3)]
      if (sweeps) assert.deepEqual(swept, [3, 2, 0])
    },
  }
}

export const range = (length: number): number[] => Array.from({ length }, (_, at) => at)
