import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ExpiringIds } from '../../application/ports/stores/expiring-ids.ts'
import type { ContractCase } from '../contract.ts'
import { afresh, type Open, type OpenedUsers, type SweepOptions, shared } from './store-under-test.ts'
import { callers, type UsersScene } from './users-scene.ts'

/** The promises of `ExpiringIds` of `application/ports`, which every store of users keeps. */
export function expiringIdsContract(
  open: Open<OpenedUsers>,
  { sweeps }: SweepOptions = { sweeps: true },
): ContractCase[] {
  const opened = shared(open)

  type Scene = Pick<UsersScene, 'clock' | 'inSeconds'> & { readonly ids: ExpiringIds; readonly second: ExpiringIds }

  const on = (title: string, act: (scene: Scene) => Promise<void>): ContractCase => ({
    title,
    async run() {
      const { role, clock, second } = await opened()
      const inSeconds = (seconds: number): Date => new Date(clock().getTime() + seconds * 1000)
      await act({ ids: role.expiringIds, second: (await second()).expiringIds, clock, inSeconds })
    },
  })

  return [
    on(
      'has an id from its adding on, for everybody, until its time comes',
      async ({ ids, second, clock, inSeconds }) => {
        const id = `of any form: ${randomUUID()}`
        assert.equal(await ids.has(id), false)
        await ids.add(id, inSeconds(60))
        assert.equal(await ids.has(id), true)
        assert.equal(await second.has(id), true)
        assert.equal(await ids.has(id.toUpperCase()), false)
        clock.advance(59)
        assert.equal(await second.has(id), true)
        clock.advance(1)
        assert.equal(await ids.has(id), false)
      },
    ),

    on('keeps the latest of several times', async ({ ids, second, clock, inSeconds }) => {
      const id = randomUUID()
      await ids.add(id, inSeconds(60))
      await second.add(id, inSeconds(120))
      await ids.add(id, inSeconds(30))
      clock.advance(119)
      assert.equal(await ids.has(id), true)
      clock.advance(1)
      assert.equal(await ids.has(id), false)
      await ids.add(id, inSeconds(10))
      assert.equal(await second.has(id), true)
    }),

    on('takes one id from many at once', async ({ ids, second, inSeconds }) => {
      const id = randomUUID()
      await Promise.all(Array.from({ length: callers }, (_, at) => (at % 2 ? ids : second).add(id, inSeconds(60 + at))))
      assert.equal(await ids.has(id), true)
    }),

    {
      title: 'sweeps at most so many whose time has come, and no other',
      run: () =>
        afresh(open, async ({ role: { expiringIds }, clock }) => {
          const until = (seconds: number): Date => new Date(clock().getTime() + seconds * 1000)
          const lasting = randomUUID()
          await expiringIds.add(lasting, until(120))
          for (let count = 0; count < 5; count++) await expiringIds.add(randomUUID(), until(60))
          clock.advance(60)
          const swept = [await expiringIds.sweep(3), await expiringIds.sweep(3), await expiringIds.sweep(3)]
          if (sweeps) assert.deepEqual(swept, [3, 2, 0])
          assert.equal(await expiringIds.has(lasting), true)
        }),
    },
  ]
}
