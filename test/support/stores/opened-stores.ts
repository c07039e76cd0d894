import { createLog } from '../../../src/adapters/logging/log.ts'
import { openShares } from '../../../src/adapters/stores/store-backend.ts'
import { openStores } from '../../../src/config/composition/open-stores.ts'
import { loadSettings } from '../../../src/config/settings/load.ts'

/** The prepared stores of these settings, with users in memory, and the lines that they log. */
export async function openedStores(env: Readonly<Record<string, string>>) {
  const { settings } = await loadSettings({ cwd: '/', env: { PORTCULLIS_STORES__USERS__KIND: 'memory', ...env } })
  const lines: string[] = []
  const stores = await openStores({
    tenant: 'default',
    settings,
    log: createLog({ ...settings.logs, level: 'info' }, { write: (line) => void lines.push(line) }),
    clock: () => new Date(),
    shares: openShares(),
    metrics: null,
    isOneOfMany: false,
    failed: () => {},
  })
  await stores.prepare(async () => {})
  return { ...stores, said: (message: string) => lines.filter((line) => line.includes(`"msg":"${message}"`)) }
}

/** The settings of sessions in this Redis. */
export function sessionsInRedis(url: string): Readonly<Record<string, string>> {
  return { PORTCULLIS_STORES__SESSIONS__KIND: 'redis', PORTCULLIS_STORES__SESSIONS__URL: url }
}
