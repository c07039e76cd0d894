import { Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { objectionOfOperator } from '../agreement.ts'
import { type ExitCode, printed, remark } from '../output.ts'
import { type GlobalOptions, type UsersHere, withUsers } from '../settings.ts'
import { newRequestId } from './one-user.ts'

/** Users whose logins end at the same time, so that a store can write them together. */
const batchSize = 100
const usersPerRemark = 10_000

/**
 * Ends every login of every user, with stored sessions and with JWTs. Each user gets a new generation and an event. May be
 * repeated after an interruption.
 */
export async function endAllSessions(options: GlobalOptions & { readonly yes?: true }): Promise<ExitCode> {
  return await withUsers({ ...options, mustName: true }, async (users) => {
    const whose = options.tenant === undefined ? '' : ` of the tenant ${options.tenant}`
    const objection = await objectionOfOperator(
      `This ends every login of every user${whose}: all of them have to sign in again`,
      options,
    )
    if (objection !== null) return objection
    const requestId = newRequestId()
    let count = 0
    for await (const batch of batchesOf(users.listUsers.execute())) {
      await Promise.all(batch.map((target) => endLogins(users, target, requestId)))
      count += batch.length
      if (count % usersPerRemark === 0) remark(`${count} users so far`)
    }
    await printed(options, `ended all logins of ${count} users${whose}`, { users: count })
    return 0
  })
}

async function endLogins({ logOutEverywhere }: UsersHere, target: User, requestId: string): Promise<void> {
  try {
    await logOutEverywhere.execute({ by: { type: 'command' }, target, requestId })
  } catch (thrown) {
    const isGone = thrown instanceof Refusal && thrown.code === 'NOT_FOUND' // deleted meanwhile
    if (!isGone) throw thrown
  }
}

async function* batchesOf<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
