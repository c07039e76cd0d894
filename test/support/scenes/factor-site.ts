import { createLog } from '../../../src/adapters/logging/log.ts'
import { useCasesOf } from '../../../src/config/composition/container.ts'
import { openSharedResources } from '../../../src/config/composition/shared-resources.ts'
import { openTenant } from '../../../src/config/composition/tenant.ts'
import { settingsOf } from '../../../src/config/settings/load.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { quickHasher } from '../../../src/testing/quick-hasher.ts'
import { goodSecret } from '../services/settings.ts'

/** A service in memory, and its use cases with a plain hasher. One for thousands of paths. By default without limits. */
export async function factorSite(limits: object = { enabled: false }) {
  const value = {
    secret: goodSecret,
    logs: { level: 'silent' },
    stores: { users: { kind: 'memory' } },
    limits,
    security: { confirmEmailChange: false, maxSingleUseRecords: 1_000_000, trustedBrowserDays: 30 },
    routers: { factors: { enabled: true } },
    handlers: { console: false },
    mail: { url: 'off' },
  }
  const { settings } = await settingsOf({ path: null, value }, { env: {}, cwd: process.cwd() })
  const clock = fixedClock()
  const shared = openSharedResources({
    settings,
    log: createLog(settings.logs),
    write: () => undefined,
    metrics: null,
    clock,
  })
  const failed = (fault: unknown): never => {
    throw fault
  }
  const tenant = await openTenant({ ...shared, id: 'default', settings, publicUrl: 'http://localhost', failed })
  const ports = { ...tenant.ports, hasher: quickHasher }
  const [first, second] = tenant.backends
  if (first === undefined || second === undefined) throw new Error('two backends were expected')
  return { ports, clock, backends: [first, second] as const, close: tenant.close, ...useCasesOf(ports) }
}

export type FactorSite = Awaited<ReturnType<typeof factorSite>>
