import { join } from 'node:path'
import { createLog } from '../../src/adapters/logging/log.ts'
import type { HandlerCall } from '../../src/application/ports/event-handlers.ts'
import { openSharedResources } from '../../src/config/composition/shared-resources.ts'
import { openTenant, type Tenant } from '../../src/config/composition/tenant.ts'
import { settingsOf } from '../../src/config/settings/load.ts'
import type { LoadedTenants } from '../../src/config/settings/tenants.ts'
import type { OpenTenants } from '../../src/config/tenancy/directory.ts'
import { tenantPool } from '../../src/config/tenancy/tenant-pool.ts'
import type { User } from '../../src/domain/user.ts'
import { anEvent, aUser } from '../../src/testing/builders.ts'
import { eventually } from './eventually.ts'
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
  /** By name, as in `tenants.list`. */
  readonly list: Readonly<Record<string, object>>
  readonly folder?: string
  readonly limits?: Limits
  readonly openingSeconds?: number
  /** The deployer's handlers, of all tenants. */
  readonly handle?: (call: HandlerCall) => Promise<void> | void
  /** Done before an opening. */
  readonly before?: (id: string) => Promise<void>
}

export interface OpenRegistry {
  readonly registry: OpenTenants<Opened>
  readonly folder: string
  /** Names, in the order in which their opening began. */
  readonly openings: readonly string[]
  /** How many hold their stores open now, and how many at once at the most. */
  readonly open: { now: number; most: number }
  /** Calls of handlers. */
  readonly calls: readonly HandlerCall[]
  readonly logLines: readonly string[]
  settingsOf(list: Readonly<Record<string, object>>): Promise<LoadedTenants>
  /** Waits until so many openings or more are over: the first look at everybody, say. */
  lookedAt(count: number): Promise<void>
  /** Somebody new in a tenant, and an event about them: written as a request would. */
  addUser(id: string): Promise<User>
  called(id: string, times?: number): Promise<void>
}

/** Tenants as a service has them, without HTTP: real stores in a scratch folder, SQLite unless `list` says otherwise. */
export async function openRegistry(wanted: Wanted): Promise<OpenRegistry> {
  const { limits = {}, folder = scratchFolder(), handle = () => undefined, before = async () => undefined } = wanted
  const load = (list: object) => {
    const value = { dataFolder: join(folder, 'data'), handlers: { console: false }, tenants: { by: 'header', list } }
    return settingsOf({ path: null, value }, { env: {}, cwd: folder })
  }
  const { settings, tenants } = await load(wanted.list)
  const logLines: string[] = []
  const openings: string[] = []
  const open = { now: 0, most: 0 }
  const calls: HandlerCall[] = []
  const common = openSharedResources({
    settings,
    log: createLog(settings.logs, { write: (line) => void logLines.push(line) }),
    write: () => undefined,
    eventHandlers: {
      handles: (name) => name !== 'on_before_delete',
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

  const registry = tenantPool<Opened>({
    tenants,
    limits: { maxOpen: 100, idleSeconds: 600, scanSeconds: 600, ...limits },
    ...(wanted.openingSeconds !== undefined && { openingSeconds: wanted.openingSeconds }),
    log: common.log,
    clock: common.clock,
    open: ({ id, settings }, failed) => opened(id, () => openTenant({ ...common, id, settings, failed })),
  })

  return {
    registry,
    folder,
    openings,
    open,
    calls,
    logLines,
    async settingsOf(list) {
      return (await load(list)).tenants
    },
    addUser: (id) =>
      registry.use(id, async ({ tenant }) => {
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

/** So many tenants that differ in nothing but their names. */
export function someTenants(count: number): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`tenant-${at}`, {}]))
}
