import { openOperator } from '../../src/cli/operator.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { Refusal, Unavailable } from '../../src/domain/refusal.ts'
import { recovers } from '../support/stores/outages.ts'

export interface Act {
  readonly id: UserId
  readonly act: 'demote' | 'deactivate' | 'delete'
}

export type Ended = 'done' | 'refused' | 'unavailable' | 'other'

const { settings } = await loadSettings({ cwd: process.cwd(), env: process.env, withoutSecret: true })
const operator = await recovers(() => openOperator({ id: 'default', pathPrefix: '', settings }))

async function tried({ id, act }: Act): Promise<Ended> {
  const target = await operator.users.find(id)
  if (target === null) return 'other'
  if (act === 'delete') {
    await operator.deleteUser({ target, requestId: 'r', isForced: false }, () => undefined)
  } else {
    const changes = act === 'demote' ? { isSuperuser: false } : { isActive: false }
    await operator.changeAccount.execute({ by: { type: 'command' }, target, changes, requestId: 'r' })
  }
  return 'done'
}

async function end(act: Act): Promise<Ended> {
  try {
    return await recovers(() => tried(act))
  } catch (thrown) {
    if (thrown instanceof Unavailable) return 'unavailable'
    if (!(thrown instanceof Refusal)) throw thrown
    return thrown.code === 'LAST_SUPERUSER' ? 'refused' : 'other'
  }
}

process.on('disconnect', () => process.exit()) // the tests have ended
process.on('message', async (acts: readonly Act[]) => {
  process.send?.(await Promise.all(acts.map(end)))
})
process.send?.('ready')
