import { EventEmitter } from 'node:events'
import { usualEndInWords } from '../../adapters/credentials/former-options.ts'
import { isCommonPassword } from '../../adapters/crypto/common-passwords.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { claimsOf } from '../../adapters/fields/declared-fields.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import { measuredLimits, measuredLogin } from '../../adapters/metrics/measured.ts'
import { type FoundPorts, keepIds } from '../../adapters/stores/store-backend.ts'
import { fieldWithoutKeys } from '../../application/accounts/field-marks.ts'
import { someHaveFactors } from '../../application/factors/some-have-factors.ts'
import type { Attack } from '../../application/limits/report-attack.ts'
import { closeAll, orClose } from '../../lib/closing.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { backendsOf, providersOf } from './backends-and-providers.ts'
import { type UseCases, useCasesOf } from './container.ts'
import { deliveriesOf } from './deliveries.ts'
import { formerEndOf, formerOf } from './former.ts'
import { openHandlers } from './handlers.ts'
import { bindSecret, keyRingOf, type MasterSecret, resolveSecret } from './master-secret.ts'
import { openStores } from './open-stores.ts'
import { warnOfOtherDomains } from './passkeys.ts'
import { type Ports, portsOf } from './ports.ts'
import { reportsOf } from './reports.ts'
import { openHasher, type SharedResources } from './shared-resources.ts'
import { signingKeysOf } from './signing.ts'

interface Needs extends SharedResources {
  readonly id: string
  readonly settings: Settings
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
  /** Whether the process shows a mailbox at `/try`. */
  readonly showsMailbox?: boolean
  /** Another process delivers the events. This one still sweeps expired records. */
  readonly leavesEvents?: boolean
  /** Called when a store that was down at the start turns out to be unsuitable. */
  readonly failed: (fault: unknown) => void
}

/** The announcements of ports. Use cases that are built from these ports react to them. */
interface Signals {
  attacked: [Attack]
  eventsWritten: []
}

export type Tenant = Awaited<ReturnType<typeof openTenant>>

/**
 * Resolves after the first attempt at every store; a store that is down is tried again each second. Throws `SettingsFault`
 * or `Unsuitable` if no retry can help.
 */
export async function openTenant(given: Needs) {
  const { id } = given
  const log = id === defaultTenant ? given.log : given.log.child({ tenant: id }) // each line names the tenant
  const needs = { ...given, log }
  const resources = await openResources(needs)
  const { master, stores, hasher } = resources
  const tenant = tenantFrom(resources, needs)
  const readSchemes = async () => hasher.prepare(await tenant.ports.users.passwordSchemes())
  const prepared = stores.prepare(async (users) => {
    await bindUsers(users, { ...needs, master })
    await keepIds(users, needs.settings.ids)
    await prepareFormer(users, { ...needs, ...resources })
    await tenant.signingKeys.prepare()
    const field = await fieldWithoutKeys(users.tenantTexts, tenant.ports.fieldRules)
    if (field !== null) throw settingsFault(`users.fields.${field}.unique`, withoutKeys)
    await warnOfOtherDomains(users.tenantTexts, tenant.ports.passkeys, log)
    if (!needs.settings.routers.factors.enabled && (await someHaveFactors(tenant.ports.users))) {
      log.warn('users have second factors, but no route takes them: set routers.factors.enabled to true, or reset them')
    }
    await readSchemes()
    tenant.usersAreReady()
  })
  await orClose(prepared, tenant.close)
  tenant.chore(async () => {
    // Reads the list now, so that the first registration is not slower.
    if (needs.settings.passwords.refusesCommon) isCommonPassword('')
    await readSchemes()
  })
  tenant.chore(stores.lookForAccess)
  return tenant
}

const withoutKeys = 'is new, or compares in another way: run "portcullis storage fields" while the service is stopped'

type Resources = Awaited<ReturnType<typeof openResources>>

/** Everything of a tenant that has to be closed or may be missing: its secret, its handlers and its stores. */
async function openResources(needs: Needs) {
  const { id, settings, log, hashPool, showsMailbox = false, eventHandlers: own } = needs
  const master = await resolveSecret(settings)
  for (const warning of master.warnings) log.warn(warning)
  const handlers = await openHandlers(settings, {
    ...needs,
    showsMailbox,
    tenant: id === defaultTenant ? null : id,
    own,
  })
  const stores = await orClose(openStores({ ...needs, tenant: id }), handlers.close)
  return { master, handlers, stores, hasher: openHasher(settings, hashPool), formerEnd: formerEndOf(settings) }
}

/** Builds the use cases and what runs them. The stores may be not ready yet. */
function tenantFrom(resources: Resources, needs: Needs) {
  const { id, settings, outbound, clock, log, metrics, leavesEvents = false } = needs
  const { stores, handlers } = resources
  const signals = new EventEmitter<Signals>()
  const ports = portsFrom(resources, { ...needs, signals })
  const useCases = measuredUseCases(useCasesOf(ports), metrics)
  const deliveries = deliveriesOf({ ...stores, useCases, ports, leavesEvents, log })
  const signingKeys = signingKeysOf(settings, {
    ...ports,
    tenantTexts: stores.users.tenantTexts,
    added: (key) => log.info(key, 'added a signing key'),
  })
  const backends = backendsOf(settings.backends, {
    ...ports,
    newId,
    claimFields: claimsOf(ports.fieldRules),
    signingKeys,
    security: settings.security,
    issuer: needs.publicUrl,
  })
  for (const { name } of backends) metrics?.backendOpened(name)
  signals.on('eventsWritten', deliveries.wake)
  signals.on('attacked', (attack) => void reportAttack(useCases, attack, log))
  return {
    ...deliveries,
    id,
    settings,
    log,
    metrics,
    ports,
    useCases,
    backends,
    signingKeys,
    providers: providersOf(settings.providers, { outbound, clock }),
    mailbox: handlers.mailbox,
    isReady: stores.isReady,
    failing: stores.failing,
    storeStates: stores.storeStates,
    foundAccess: stores.foundAccess,
    async close() {
      deliveries.close()
      await closeAll(handlers, stores)
    },
  }
}

interface PortNeeds extends Needs {
  readonly signals: EventEmitter<Signals>
}

function portsFrom({ master, handlers, stores, hasher, formerEnd }: Resources, needs: PortNeeds): Ports {
  const { id, settings, clock, log, metrics, signals } = needs
  const ports = portsOf(settings, {
    ...reportsOf({ log, metrics, storeFailed: () => void stores.failing() }),
    tenant: id,
    publicUrl: needs.publicUrl,
    users: stores.users,
    sessions: stores.sessions,
    tokens: stores.tokens,
    singleUseRecords: stores.singleUseRecords,
    limiter: stores.limiter,
    refusedLogins: stores.refusedLogins,
    keyRing: keyRingOf(master, id),
    hasher,
    eventHandlers: handlers.eventHandlers,
    handlers: handlers.sinks,
    ...formerOf(settings, { hasher, clock, metrics, until: formerEnd.at }),
    clock,
    attacked: (attack) => signals.emit('attacked', attack),
    wakeRelay: () => signals.emit('eventsWritten'),
  })
  return { ...ports, limits: measuredLimits(ports.limits, metrics) }
}

function measuredUseCases(all: UseCases, metrics: SharedResources['metrics']) {
  return {
    ...all,
    logIn: measuredLogin(all.logIn, metrics),
    finishLogin: measuredLogin(all.finishLogin, metrics),
    logInByPasskey: measuredLogin(all.logInByPasskey, metrics),
    finishOAuth: measuredLogin(all.finishOAuth, metrics),
  }
}

async function reportAttack(useCases: Pick<UseCases, 'reportAttack'>, attack: Attack, log: Logger): Promise<void> {
  await useCases.reportAttack.execute(attack).catch((err: unknown) => {
    log.warn({ err, requestId: attack.requestId }, 'an attacked account could not be reported')
  })
}

/** Refuses a store of users that belongs to another secret. */
async function bindUsers(users: FoundPorts<'users'>, { id, settings, log, master }: Needs & { master: MasterSecret }) {
  const { origin, path, isOfAnEarlierStart } = master
  const mark = await bindSecret(users, master, id)
  if (origin === 'generated') log.info({ path }, 'generated a secret: keep this file with the data')
  if (mark === 'first' && isOfAnEarlierStart && settings.stores.users.kind !== 'memory') {
    log.warn({ path }, 'the user store is new, but its secret is older: check stores.users and dataFolder')
  }
}

/** Fixes the end of logins of fastapi-users, and logs it if the settings do not name it. */
async function prepareFormer(
  users: FoundPorts<'users'>,
  { settings, log, clock, formerEnd }: Needs & Pick<Resources, 'formerEnd'>,
): Promise<void> {
  await formerEnd.prepare(users, clock())
  const told = usualEndInWords(settings.compat, formerEnd.at(), clock())
  if (told !== null) log[told.isOver ? 'warn' : 'info'](told.text)
}
