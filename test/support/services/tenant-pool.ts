import { join } from 'node:path'
import { expect } from 'chai'
import { createLog } from '../../../src/adapters/logging/log.ts'
import type { OpenTenants } from '../../../src/adapters/tenants/directory.ts'
import type { HandlerCall } from '../../../src/application/ports/event-handlers.ts'
import { openSharedResources } from '../../../src/config/composition/shared-resources.ts'
import { openTenant, type Tenant } from '../../../src/config/composition/tenant.ts'
import { settingsOf } from '../../../src/config/settings/load.ts'
import type { LoadedTenants } from '../../../src/config/settings/tenants.ts'
import { openTenants } from '../../../src/config/tenancy/open-tenants.ts'
import type { User } from '../../../src/domain/user.ts'
import { anEvent, aUser } from '../../../src/testing/builders.ts'
import { eventually } from '../eventually.ts'
import { scratchFolder } from './spawned-service.ts'

interface Opened extends Tenant {
  readonly tenant: Tenant
}

interface Limits {
  readonly maxOpen?: number
  readonly idleSeconds?: number
  readonly scanSeconds?: number
}

interface Wanted {
  /** As in `tenants.list`. */
  readonly list: Readonly<Record<string, object>>
  readonly folder?: string
  readonly limits?: Limits
  readonly openingSeconds?: number
  /** The event handlers of all tenants. */
  readonly handle?: (call: HandlerCall) => Promise<void> | void
  /** Called before an opening. */
  readonly before?: (id: string) => Promise<void>
}

export interface OpenedPool {
  readonly pool: OpenTenants<Opened, LoadedTenants>
  readonly folder: string
  /** The names of the tenants, in the order of their openings. */
  readonly openings: readonly string[]
  /** The number of tenants whose stores are open now, and the most at once. */
  readonly open: { now: number; most: number }
  /** Calls of handlers. */
  readonly calls: readonly HandlerCall[]
  readonly logLines: readonly string[]
  settingsOf(list: Readonly<Record<string, object>>): Promise<LoadedTenants>
  /** Waits for the end of so many openings, such as those of the first scan. */
  lookedAt(count: number): Promise<void>
  /** Inserts a user with an event, as a request does. */
  addUser(id: string): Promise<User>
  /** Waits until the handlers were called so often for this tenant. */
  called(id: string, times?: number): Promise<void>
}

/** The tenants of a service without HTTP, with real stores in a scratch folder: SQLite unless `list` says otherwise. */
async function openPool(wanted: Wanted): Promise<OpenedPool> {
  const { limits = {}, folder = scratchFolder(), handle = () => undefined, before = async () => undefined } = wanted
  const load = (list: object) => {
    const value = {
      dataFolder: join(folder, 'data'),
      handlers: { console: false },
      mail: { url: 'off' },
      tenants: { by: 'header', list },
    }
    return settingsOf({ path: null, value }, { env: {}, cwd: folder })
  }
  const { settings, tenants } = await load(wanted.list)
  const logLines: string[] = []
  const openings: string[] = []
  const open = { now: 0, most: 0 }
  const calls: HandlerCall[] = []
  const common = openSharedResources({
    metrics: null,
    settings,
    log: createLog(settings.logs, { write: (line) => void logLines.push(line) }),
    write: () => undefined,
    eventHandlers: {
      handles: (type) => type !== 'deletion_requested' && type !== 'password_chosen',
      async call(call) {
        calls.push(call)
        await handle(call)
      },
    },
  })

  async function opened(id: string, opening: () => Promise<Tenant>): Promise<Opened> {
    openings.push(id)
    open.most = Math.max(open.most, ++open.now)
    try {
      await before(id)
      const tenant = await opening()
      const close = async (): Promise<void> => {
        await tenant.close()
        open.now--
      }
      return { ...tenant, tenant, close }
    } catch (thrown) {
      open.now--
      throw thrown
    }
  }

  const pool = openTenants<Opened>({
    tenants,
    settings: { tenants: { ...settings.tenants, maxOpen: 100, idleSeconds: 600, scanSeconds: 600, ...limits } },
    failed: () => undefined,
    ...(wanted.openingSeconds !== undefined && { openingSeconds: wanted.openingSeconds }),
    log: common.log,
    clock: common.clock,
    open: ({ id, settings }, failed) =>
      opened(id, () => openTenant({ ...common, id, settings, publicUrl: 'http://localhost', failed })),
  })
  return {
    pool,
    folder,
    openings,
    open,
    calls,
    logLines,
    async settingsOf(list) {
      return (await load(list)).tenants
    },
    addUser: (id) =>
      pool.use(id, async ({ tenant }) => {
        const user = aUser()
        await tenant.ports.users.insert(user, [anEvent(user)])
        return user
      }),
    async lookedAt(count) {
      await eventually(`${count} closed again`, () => openings.length >= count && open.now === 0)
    },
    async called(id, times = 1) {
      const ofTenant = () => calls.filter(({ context }) => context.tenant === id).length
      await eventually(`a call for ${id}`, () => ofTenant() >= times)
    },
  }
}

/** As many tenants, all with the same settings. */
export function someTenants(count: number): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`tenant-${at}`, {}]))
}

/** Opens pools, and closes all of them: after that no tenant is open. */
export function pools() {
  const opened: OpenedPool[] = []
  return {
    async open(wanted: Wanted): Promise<OpenedPool> {
      const one = await openPool(wanted)
      opened.push(one)
      return one
    },
    async closeAll(): Promise<void> {
      const all = opened.splice(0)
      await Promise.all(all.map(({ pool }) => pool.close(1)))
      await eventually('the last stores to close', () => all.every(({ open }) => open.now <= 0))
      expect(all.map(({ open }) => open.now)).to.deep.equal(all.map(() => 0))
    },
  }
}

export const nothing = async () => undefined
