// A search takes as long among a million users as among ten thousand. Needs an idle machine.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { UserStore } from '../src/application/ports/stores/user-store.ts'
import type { UserId } from '../src/domain/ids.ts'
import type { UserCriteria } from '../src/domain/user-criteria.ts'
import { aUser } from '../src/testing/builders.ts'
import { figure } from './support/http/figures.ts'
import { quantile } from './support/http/statistics.ts'
import { postgresObstacle } from './support/servers/postgres-server.ts'
import { type Crowd, firstCame, postgresCrowds, sqliteCrowd } from './support/stores/crowds.ts'

const sizes = { few: 10_000, many: 1_000_000 }
const pagesOfEach = 300
const limit = 100
const mostMs = 50
/** Shorter times differ by what is in a cache, and by chance. */
const leastMs = 5

const at = (seconds: number): Date => new Date(firstCame + 1000 * seconds)
const prefix = (text: string, field: string | null = null): UserCriteria => ({ prefix: { field, text } })

/** The searches by their names; those of `round` differ from round to round. */
const searches: Readonly<Record<string, (round: number) => UserCriteria>> = {
  'all users': () => ({}),
  'a prefix of one letter': (round) => prefix((round % 16).toString(16)),
  'a prefix of four letters': (round) => prefix(((round * 7919) % 65_536).toString(16).padStart(4, '0')),
  'a prefix of a field': (round) => prefix((round % 256).toString(16).padStart(2, '0'), 'name'),
  'a prefix of a field, without an address': (round) => ({
    ...prefix((round % 256).toString(16).padStart(2, '0'), 'name'),
    exceptPrefixes: [{ field: null, text: (round % 256).toString(16).padStart(2, '0') }],
  }),
  'is_active=true': () => ({ isActive: true }),
  'is_active=false': () => ({ isActive: false }),
  'is_verified=true': () => ({ isVerified: true }),
  'is_verified=false': () => ({ isVerified: false }),
  'is_superuser=true': () => ({ isSuperuser: true }),
  'is_superuser=false': () => ({ isSuperuser: false }),
  'factor=true': () => ({ hasFactor: true }),
  'factor=false': () => ({ hasFactor: false }),
  created_after: () => ({ createdAfter: at(100) }),
  created_before: () => ({ createdBefore: at(900_000) }),
  'created_before, all at once': () => ({ createdBefore: at(1) }),
  last_login_before: () => ({ lastLoginBefore: at(500_000) }),
  'two rare flags': () => ({ isActive: false, hasFactor: true }),
  'a prefix, and a rare flag': (round) => ({ ...prefix((round % 16).toString(16)), isSuperuser: true }),
  'a time, and a rare flag': () => ({ createdAfter: at(0), isActive: false }),
  'two times': () => ({ createdBefore: at(900_000), lastLoginBefore: at(10) }),
  'times and flags': () => ({ createdAfter: at(0), lastLoginBefore: at(900_000), isVerified: false, hasFactor: false }),
}

/** Reads pages, each behind the one before, and then from the first one again. */
function reader(users: UserStore, criteriaOf: (round: number) => UserCriteria) {
  let [round, after]: [number, string | null] = [0, null]
  return async (): Promise<number> => {
    const began = performance.now()
    const page = await users.search(criteriaOf(round), limit, after)
    const took = performance.now() - began
    if (page === 'bad_cursor') throw new Error('the cursor is refused')
    after = page.next
    if (after === null) round++
    return took
  }
}

for (const store of ['SQLite', 'PostgreSQL'] as const) {
  describe(`a search of ${store} among a million users`, function () {
    this.timeout(1_200_000)
    const crowds: Crowd[] = []
    let end: () => Promise<unknown> = async () => undefined
    const [few, many] = [() => crowdAt(0), () => crowdAt(1)]
    const crowdAt = (index: number) => crowds[index]?.users ?? expect.fail('there is no crowd')

    before(async function () {
      if (store === 'PostgreSQL' && (await postgresObstacle()) !== null) return this.skip()
      const server = store === 'PostgreSQL' ? await postgresCrowds() : { crowd: sqliteCrowd, end }
      end = server.end
      for (const count of [sizes.few, sizes.many]) crowds.push(await server.crowd(count))
    })
    after(async () => {
      for (const { close } of crowds) await close()
      await end()
    })

    for (const [name, criteriaOf] of Object.entries(searches)) {
      it(`${name}: takes less than ${mostMs} ms a page, and at most twice as long as among ten thousand`, async () => {
        const readers = [reader(few(), criteriaOf), reader(many(), criteriaOf)] as const
        const times: [number[], number[]] = [[], []]
        for (let page = 0; page < pagesOfEach; page++) {
          times[0].push(await readers[0]())
          times[1].push(await readers[1]())
        }
        const [p99Few, p99Many] = times.map((one) => quantile(one, 0.99)) as [number, number]
        const [p50Few, p50Many] = times.map((one) => quantile(one, 0.5)) as [number, number]
        figure(`${store}, ${name}, ms`, {
          'p99 of a million': p99Many,
          'of 10 000': p99Few,
          median: p50Many,
          'median of 10 000': p50Few,
        })
        expect(p99Many).to.be.below(mostMs)
        expect(p99Many).to.be.at.most(2 * Math.max(p99Few, leastMs))
      })
    }

    it('counts up to ten thousand in less than a second', async () => {
      for (const [name, criteriaOf] of Object.entries(searches)) {
        const began = performance.now()
        const { count } = await many().count(criteriaOf(1), 10_000)
        const took = performance.now() - began
        figure(`${store}, count of ${name}`, { count, ms: took })
        expect(took, name).to.be.below(1_000)
      }
    })

    it('finds each user who does not change exactly once while others come, change and go', async () => {
      const users = few()
      const times = new Map<UserId, number>()
      let [after, isOver, writes]: [string | null, boolean, number] = [null, false, 0]
      const added: UserId[] = []
      const writing = (async () => {
        for (; !isOver; writes++) {
          const user = aUser({ isVerified: false, createdAt: at(writes * 10), isActive: writes % 2 === 0 })
          if ((await users.insert(user, [])) === 'stored') added.push(user.id)
          const other = await users.find(added[writes - 5] ?? user.id)
          if (other !== null) await users.replace({ ...other, isVerified: !other.isVerified, email: aUser().email }, [])
        }
      })()
      do {
        const page = await users.search({ createdBefore: at(100_000), isVerified: false }, 20, after)
        if (page === 'bad_cursor') throw new Error('the cursor is refused')
        for (const { user } of page.items) times.set(user.id, (times.get(user.id) ?? 0) + 1)
        after = page.next
        for (const before = writes; writes === before; ) await nextTurn()
      } while (after !== null)
      isOver = true
      await writing
      for (const id of added) times.delete(id)
      expect(times.size).to.equal(Math.floor(sizes.few / 3))
      expect(new Set(times.values())).to.deep.equal(new Set([1]))
      figure(`${store}, writes meanwhile`, { writes })
    })
  })
}
