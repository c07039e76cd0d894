import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { UsersRole } from '../../adapters/stores/store-backend.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import { anEvent, aUser } from '../builders.ts'
import type { ContractCase } from '../contract.ts'
import { deliverAll } from './deliveries.ts'
import { afresh, type Open, type OpenedUsers } from './store-under-test.ts'
import { callers, count, onQuietRoles, stored } from './users-scene.ts'

/** A new address. `spelling` returns any of its 2^32 spellings, which all have one key. */
const freshAddress = (): Email => `abcdefghijklmnopqrstuvwxyzabcdef.${randomUUID().slice(0, 8)}@bücher.example` as Email

function spelling(address: Email, way: number): Email {
  const spelled = [...address].map((letter, at) => (at < 32 && (way >>> at) & 1 ? letter.toUpperCase() : letter))
  return spelled.join('') as Email
}

/** The promises of `UserStore` in `application/ports`, and of `checkSecret`. */
export function userStoreContract(open: Open<OpenedUsers>): ContractCase[] {
  const on = onQuietRoles(open)

  return [
    on('gives back every field of a user as it was inserted', async ({ users }, second) => {
      for (const user of [
        aUser(),
        aUser({ isActive: false, isSuperuser: false, isVerified: false }),
        aUser({ passwordHash: null, sessions: { generation: 0, kept: null }, endedUntil: null }),
      ]) {
        assert.equal(await users.insert(user, []), 'stored')
        assert.deepEqual(await users.find(user.id), user)
        assert.deepEqual(await users.findByEmail(emailKey(user.email)), user)
        assert.deepEqual(await second.users.find(user.id), user)
      }
    }),

    on('gives back every field of a user as it was replaced', async (role) => {
      const before = await stored(role)
      const after = aUser({
        id: before.id,
        passwordHash: null,
        passwordVersion: 4,
        isActive: false,
        isSuperuser: false,
        isVerified: false,
        sessions: { generation: 8, kept: null },
        endedUntil: null,
        version: before.version,
      })
      assert.equal(await role.users.replace(after, []), 'stored')
      assert.deepEqual(await role.users.find(before.id), { ...after, version: before.version + 1 })
      const back = { ...before, version: before.version + 1 }
      assert.equal(await role.users.replace(back, []), 'stored')
      assert.deepEqual(await role.users.find(before.id), { ...before, version: before.version + 2 })
    }),

    on('finds a user by any spelling of the address, and keeps the spelling of its owner', async (role) => {
      const address = freshAddress()
      const user = await stored(role, { email: spelling(address, 0b1011) })
      for (const way of [0, 1, 0xff]) {
        const found = await role.users.findByEmail(emailKey(spelling(address, way)))
        assert.deepEqual(found, user)
      }
      const inAscii = address.replace('bücher.example', 'xn--bcher-kva.example') as Email
      assert.deepEqual(await role.users.findByEmail(emailKey(inAscii)), user)
    }),

    on('answers null for an unknown id and an unknown address', async ({ users }) => {
      assert.equal(await users.find(aUser().id), null)
      assert.equal(await users.findByEmail(emailKey(freshAddress())), null)
    }),

    on('lets exactly one of many concurrent inserts have an address, however it is spelled', async (role, second) => {
      const address = freshAddress()
      const candidates = Array.from({ length: callers }, (_, way) => aUser({ email: spelling(address, way) }))
      const events = candidates.map((user) => anEvent(user))
      const outcomes = await Promise.all(
        candidates.map((user, at) => (at % 2 ? role : second).users.insert(user, events.slice(at, at + 1))),
      )
      assert.equal(count(outcomes, 'stored'), 1)
      assert.equal(count(outcomes, 'email_taken'), callers - 1)
      const winner = candidates[outcomes.indexOf('stored')]
      assert.deepEqual(await role.users.findByEmail(emailKey(address)), winner)
      const found = await Promise.all(candidates.map((user) => role.users.find(user.id)))
      assert.deepEqual(
        found.filter((user) => user !== null),
        [winner],
      )
      assert.deepEqual(await deliverAll(role.outbox), [events[outcomes.indexOf('stored')]])
    }),

    on('writes nothing, no event either, when an inserted address is taken', async (role) => {
      const owner = await stored(role)
      const late = aUser({ email: owner.email })
      assert.equal(await role.users.insert(late, [anEvent(late)]), 'email_taken')
      assert.equal(await role.users.find(late.id), null)
      assert.deepEqual(await role.users.findByEmail(emailKey(owner.email)), owner)
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('lets exactly one of many concurrent replaces of the same version win', async (role, second) => {
      const user = await stored(role)
      const candidates = Array.from({ length: callers }, (_, at) => ({ ...user, passwordVersion: 100 + at }))
      const events = candidates.map((one) => anEvent(one))
      const outcomes = await Promise.all(
        candidates.map((one, at) => (at % 2 ? role : second).users.replace(one, events.slice(at, at + 1))),
      )
      assert.equal(count(outcomes, 'stored'), 1)
      assert.equal(count(outcomes, 'stale'), callers - 1)
      const winner = candidates[outcomes.indexOf('stored')]
      assert.deepEqual(await role.users.find(user.id), { ...winner, version: user.version + 1 })
      assert.deepEqual(await deliverAll(role.outbox), [events[outcomes.indexOf('stored')]])
    }),

    on('loses no update when every caller repeats after stale', async (role, second) => {
      const { id } = await stored(role, { passwordVersion: 0 })
      const increment = async ({ users }: UsersRole): Promise<void> => {
        for (let attempt = 0; attempt < 1000; attempt++) {
          const user = await users.find(id)
          assert.ok(user)
          const outcome = await users.replace({ ...user, passwordVersion: user.passwordVersion + 1 }, [])
          if (outcome === 'stored') return
          assert.equal(outcome, 'stale')
        }
        assert.fail('a fresh record was stale a thousand times')
      }
      await Promise.all(Array.from({ length: 16 }, (_, at) => increment(at % 2 ? role : second)))
      const user = await role.users.find(id)
      assert.equal(user?.passwordVersion, 16)
      assert.equal(user?.version, 17)
    }),

    on('writes nothing, no event either, when a replaced version is stale', async (role) => {
      const user = await stored(role)
      assert.equal(await role.users.replace(user, []), 'stored')
      const kept = await role.users.find(user.id)
      for (const version of [user.version, user.version + 2]) {
        const change = { ...user, version, email: freshAddress(), isActive: false }
        assert.equal(await role.users.replace(change, [anEvent(change)]), 'stale')
        assert.equal(await role.users.findByEmail(emailKey(change.email)), null)
        assert.equal(await role.users.insert(aUser({ email: change.email }), []), 'stored')
      }
      assert.deepEqual(await role.users.find(user.id), kept)
      assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), kept)
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('answers stale for the replace of a user who is gone or never was', async (role) => {
      const gone = await stored(role)
      assert.equal(await role.users.remove(gone, []), 'removed')
      for (const user of [gone, aUser()]) {
        assert.equal(await role.users.replace(user, [anEvent(user)]), 'stale')
        assert.equal(await role.users.find(user.id), null)
        assert.equal(await role.users.findByEmail(emailKey(user.email)), null)
      }
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('writes nothing, no event either, when a replace wants an address that is taken', async (role) => {
      const owner = await stored(role)
      const user = await stored(role)
      const change = { ...user, email: owner.email, isActive: false }
      assert.equal(await role.users.replace(change, [anEvent(change)]), 'email_taken')
      assert.deepEqual(await role.users.find(user.id), user)
      assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), user)
      assert.deepEqual(await role.users.findByEmail(emailKey(owner.email)), owner)
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    on('lets a user spell the own address differently', async (role) => {
      const address = freshAddress()
      const user = await stored(role, { email: address })
      const change = { ...user, email: spelling(address, 0b101) }
      assert.equal(await role.users.replace(change, []), 'stored')
      assert.equal((await role.users.findByEmail(emailKey(address)))?.email, change.email)
    }),

    on('lets exactly one of many users who move to an address at once have it', async (role, second) => {
      const address = freshAddress()
      const movers = await Promise.all(Array.from({ length: 16 }, () => stored(role)))
      const outcomes = await Promise.all([
        ...movers.map((user, at) => (at % 2 ? role : second).users.replace({ ...user, email: address }, [])),
        ...Array.from({ length: 16 }, (_, way) =>
          (way % 2 ? role : second).users.insert(aUser({ email: spelling(address, way) }), []),
        ),
      ])
      assert.equal(count(outcomes, 'stored'), 1)
      assert.equal(count(outcomes, 'email_taken'), 31)
    }),

    on('frees the address that a replace leaves', async (role) => {
      const user = await stored(role)
      assert.equal(await role.users.replace({ ...user, email: freshAddress() }, []), 'stored')
      assert.equal(await role.users.findByEmail(emailKey(user.email)), null)
      const next = await stored(role, { email: user.email })
      assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), next)
    }),

    on('frees the address of a removed user, while the events of that user still wait', async (role) => {
      const user = aUser()
      const events = [anEvent(user), anEvent(user, { type: 'deleted' })]
      assert.equal(await role.users.insert(user, events.slice(0, 1)), 'stored')
      assert.equal(await role.users.remove(user, events.slice(1)), 'removed')
      assert.equal(await role.users.find(user.id), null)
      assert.equal(await role.users.findByEmail(emailKey(user.email)), null)
      const next = await stored(role, { email: user.email })
      assert.deepEqual(await role.users.findByEmail(emailKey(user.email)), next)
      assert.deepEqual(await deliverAll(role.outbox), events)
      assert.deepEqual(await role.users.find(next.id), next)
    }),

    on('lets exactly one of many concurrent removes win', async (role, second) => {
      const user = await stored(role)
      const events = Array.from({ length: callers }, () => anEvent(user, { type: 'deleted' }))
      const outcomes = await Promise.all(
        events.map((event, at) => (at % 2 ? role : second).users.remove(user, [event])),
      )
      assert.equal(count(outcomes, 'removed'), 1)
      assert.equal(count(outcomes, 'stale'), callers - 1)
      assert.deepEqual(await deliverAll(role.outbox), [events[outcomes.indexOf('removed')]])
    }),

    on('lets either a replace or a remove of the same version win, never both', async (role, second) => {
      const rounds = await Promise.all(Array.from({ length: 16 }, () => stored(role)))
      for (const user of rounds) {
        const [replaced, removed] = await Promise.all([
          role.users.replace({ ...user, isActive: false }, []),
          second.users.remove(user, []),
        ])
        assert.equal(replaced === 'stored', removed === 'stale', `replace ${replaced}, remove ${removed}`)
        assert.equal((await role.users.find(user.id)) === null, removed === 'removed')
      }
    }),

    on('removes nobody, and writes no event, when the version is stale', async (role) => {
      const user = await stored(role)
      assert.equal(await role.users.replace(user, []), 'stored')
      assert.equal(await role.users.remove(user, [anEvent(user, { type: 'deleted' })]), 'stale')
      assert.equal((await role.users.find(user.id))?.version, user.version + 1)
      assert.deepEqual(await deliverAll(role.outbox), [])
    }),

    {
      title: 'lists each algorithm and cost among the stored hashes once',
      run: () =>
        afresh(open, async ({ role }) => {
          assert.deepEqual(await role.users.passwordSchemes(), [])
          const cheap = '$argon2id$v=19$m=19456,t=2,p=1'
          const dear = '$argon2id$v=19$m=65536,t=3,p=4'
          const bcrypt = '$2b$12'
          const salted = `$c2FsdHNhbHRzYWx0$${randomUUID()}`
          await stored(role, { passwordHash: null })
          await stored(role, { passwordHash: `${cheap}${salted}` })
          await stored(role, { passwordHash: `${cheap}${salted}2` })
          await stored(role, { passwordHash: `${bcrypt}$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW` })
          const user = await stored(role, { passwordHash: `${dear}${salted}` })
          assert.deepEqual([...(await role.users.passwordSchemes())].sort(), [cheap, dear, bcrypt].sort())
          assert.equal(await role.users.replace({ ...user, passwordHash: `${cheap}${salted}` }, []), 'stored')
          assert.deepEqual([...(await role.users.passwordSchemes())].sort(), [cheap, bcrypt].sort())
        }),
    },
    {
      title: 'does not list the hash of a removed user',
      run: () =>
        afresh(open, async ({ role }) => {
          const user = await stored(role)
          assert.equal(await role.users.remove(user, [anEvent(user, { type: 'deleted' })]), 'removed')
          assert.deepEqual(await role.users.passwordSchemes(), [])
        }),
    },
    {
      title: 'keeps the mark of the first secret, and knows it from any other',
      run: () =>
        afresh(open, async ({ role, second }) => {
          assert.equal(await role.checkSecret('mark'), 'first')
          assert.equal(await role.checkSecret('mark'), 'same')
          assert.equal(await role.checkSecret('another'), 'other')
          const again = await second()
          assert.equal(await again.checkSecret('another'), 'other')
          assert.equal(await again.checkSecret('mark'), 'same')
        }),
    },
    {
      title: 'lets exactly one of many first starts at once be the first',
      run: () =>
        afresh(open, async ({ role, second }) => {
          const other = await second()
          const marks = Array.from({ length: 16 }, (_, at) => (at < 8 ? 'mark' : 'another'))
          const outcomes = await Promise.all(marks.map((mark, at) => (at % 2 ? role : other).checkSecret(mark)))
          assert.equal(count(outcomes, 'first'), 1)
          const winner = marks[outcomes.indexOf('first')]
          for (const [at, outcome] of outcomes.entries()) {
            if (outcome !== 'first') assert.equal(outcome, marks[at] === winner ? 'same' : 'other')
          }
        }),
    },
  ]
}
