import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { portsFor } from '../../src/adapters/stores/store-backend.ts'
import { openRole } from '../../src/cli/open-role.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { isActiveSuperuser, type User } from '../../src/domain/user.ts'
import { anEvent, aUser } from '../../src/testing/builders.ts'
import type { Deployment } from '../support/services/deployments.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import { recovers } from '../support/stores/outages.ts'
import type { Act, Ended } from './superusers-process.ts'

const processes = 4
const superusers = 64
const program = fileURLToPath(new URL('./superusers-process.ts', import.meta.url))

/** A process that ends the rights of superusers through the use cases. */
async function start(env: Readonly<Record<string, string>>, dataFolder: string) {
  const child = fork(program, { env: { ...process.env, ...env, PORTCULLIS_DATA_FOLDER: dataFolder } })
  await once(child, 'message') // it has opened the store
  const exited = once(child, 'exit')
  return {
    /** The outcomes of the acts; `null` if the process was killed meanwhile. */
    async endAll(acts: readonly Act[]): Promise<readonly Ended[] | null> {
      child.send(acts)
      // Safe: the process sends nothing else.
      return await Promise.race([once(child, 'message').then(([ended]) => ended as Ended[]), exited.then(() => null)])
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/**
 * In each round, four processes demote, deactivate and delete 64 superusers at once, each user in two of them, and up to two
 * processes are killed meanwhile. An active superuser must always stay.
 */
export async function endRightsAmidKills(deployment: Deployment, rounds: number) {
  const given = await deployment.settings()
  const dataFolder = scratchFolder()
  const { settings } = await loadSettings({
    cwd: dataFolder,
    env: { ...given, PORTCULLIS_DATA_FOLDER: dataFolder },
    withoutSecret: true,
  })
  const store = await recovers(() => openRole('users', { id: 'default', pathPrefix: '', settings }))
  const { users } = portsFor('users', 'the store', store)
  const seen = { rounds, kills: 0, done: 0, refused: 0, unavailable: 0, other: 0 }
  let members: readonly UserId[] = []

  async function rightful(): Promise<User[]> {
    const found: User[] = []
    for (const id of members) {
      const user = await recovers(() => users.find(id))
      if (user !== null && isActiveSuperuser(user)) found.push(user)
    }
    return found
  }

  async function removed(id: UserId): Promise<string> {
    for (;;) {
      const fresh = await users.find(id)
      const outcome = fresh === null ? 'removed' : await users.remove(fresh, [anEvent(fresh)])
      if (outcome !== 'stale') return outcome
    }
  }

  const children = await Promise.all(Array.from({ length: processes }, () => start(given, dataFolder)))
  try {
    for (let round = 0; round < rounds; round++) {
      const added = Array.from({ length: superusers - members.length }, () => aUser({ isSuperuser: true }))
      for (const user of added)
        expect(await recovers(() => users.insert(user, []))).to.be.oneOf(['stored', 'email_taken'])
      members = [...members, ...added.map(({ id }) => id)]

      const acts = members.map(
        (id, at): Act => ({ id, act: (['demote', 'deactivate', 'delete'] as const)[(at + round) % 3] ?? 'demote' }),
      )
      const running = children.map((child, nth) =>
        child.endAll(acts.filter((_, at) => at % processes === nth || (at + 1) % processes === nth)),
      )
      const killed = Array.from({ length: round % 3 }, (_, at) => (round + at) % processes)
      for (const nth of killed) {
        await delay(Math.random() * 80)
        await children[nth]?.kill()
        seen.kills++
      }
      const ended = (await Promise.all(running)).flatMap((outcomes) => outcomes ?? [])
      for (const outcome of ended) seen[outcome]++
      await Promise.all(killed.map(async (nth) => (children[nth] = await start(given, dataFolder))))

      const left = await rightful()
      expect(left.length, `superusers left in round ${round}`).to.be.at.least(1)
      if (killed.length === 0 && !ended.includes('unavailable')) expect(left).to.have.length(1)
      // Nobody is refused too much after a kill: the rights of all others can still be ended.
      const [kept, ...others] = left
      for (const { id } of others) expect(await recovers(() => removed(id))).to.equal('removed')
      members = kept === undefined ? [] : [kept.id]
    }
    return seen
  } finally {
    await Promise.all(children.map((child) => child.kill()))
    await store.close()
    await deployment.remove(given)
  }
}
