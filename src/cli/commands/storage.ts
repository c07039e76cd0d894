import { join, resolve } from 'node:path'
import { objectionToHash, schemeOfPrefix } from '../../adapters/crypto/hash-schemes.ts'
import { type OpenOptions, portsFor, type StoreBackend } from '../../adapters/stores/store-backend.ts'
import { everyOne } from '../../application/every-one.ts'
import { someHaveFactors } from '../../application/factors/some-have-factors.ts'
import { hasSecret, resolveSecret } from '../../config/composition/master-secret.ts'
import { rulesOf } from '../../config/composition/ports.ts'
import { rotationOf } from '../../config/composition/rotate-secret.ts'
import { distinctStores, namingRoles, placed, pluginOf } from '../../config/plugins/stores.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import { asDeclared } from '../../domain/fields.ts'
import { timers } from '../../lib/timers.ts'
import { commandOptions, openRole } from '../open-role.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/**
 * Checks each store, and writes a mark to see whether it takes writes. Users, sessions and tokens stay as they are. Prints
 * the faults and a summary, the values that no longer fit the settings, and whether former secrets may go. Exit code 1 if a
 * store has a fault.
 */
export async function checkStorage(options: GlobalOptions): Promise<ExitCode> {
  const tenant = await tenantHere(options, { withoutSecret: true })
  const { settings } = tenant
  let code: ExitCode = 0
  for (const { store, roles } of distinctStores(settings.stores)) {
    const { kind } = store
    const openOptions = { ...placed(store, settings.dataFolder), ...commandOptions(tenant, warn) }
    const faults = await namingRoles(roles, () => faultsOf(pluginOf(kind), openOptions))
    for (const fault of faults) warn(`${kind}: ${fault}`)
    if (faults.length > 0) code = 1
    const text = `${kind} (${roles.join(', ')}): ${faults.length === 0 ? 'ok' : 'has faults'}`
    await printed(options, text, { kind, roles, faults })
  }
  if (code === 0) {
    await printUnfit(options, tenant)
    await printUnusableHashes(options, tenant)
    await printUnusableFactors(options, tenant)
    await printFormerSecrets(options, tenant)
  }
  return code
}

const pageSize = 500

/** Prints each user's fields whose stored values no longer fit the settings. They are shown to nobody. */
async function printUnfit(options: GlobalOptions, tenant: Parameters<typeof openRole>[1]): Promise<void> {
  const { settings } = tenant
  const rules = rulesOf(settings)
  if (rules.fields.size === 0) return
  const handle = await openRole('users', tenant)
  try {
    const { users } = portsFor('users', settings.stores.users.kind, handle)
    for await (const { id, email, fields } of everyOne((after) => users.list(pageSize, after))) {
      const unfit = Object.keys(asDeclared(rules, fields).retired).filter((name) => rules.fields.has(name))
      for (const field of unfit) await printed(options, `${id}\t${email}\t${field}\tdoes not fit`, { id, email, field })
    }
  } finally {
    await handle.close()
  }
}

/** Prints the users whose stored hash counts as no password. It reads the users only if there is such a hash. */
async function printUnusableHashes(options: GlobalOptions, tenant: Parameters<typeof openRole>[1]): Promise<void> {
  const handle = await openRole('users', tenant)
  try {
    const { users } = portsFor('users', tenant.settings.stores.users.kind, handle)
    if ((await users.passwordSchemes()).every((prefix) => schemeOfPrefix(prefix) !== null)) return
    for await (const { id, email, passwordHash } of everyOne((after) => users.list(pageSize, after))) {
      const objection = passwordHash === null ? null : objectionToHash(passwordHash)
      if (objection === null) continue
      await printed(options, `${id}\t${email}\thas no password: ${objection}`, { id, email, objection })
    }
  } finally {
    await handle.close()
  }
}

/** Tells whether users have second factors that no route takes. They cannot log in. */
async function printUnusableFactors(options: GlobalOptions, tenant: Parameters<typeof openRole>[1]): Promise<void> {
  const { settings } = tenant
  const handle = await openRole('users', tenant)
  try {
    const { users } = portsFor('users', settings.stores.users.kind, handle)
    if (settings.routers.factors.enabled || !(await someHaveFactors(users))) return
    const text = 'users have second factors, and cannot log in: routers.factors.enabled is off'
    await printed(options, text, { hasUnusableFactors: true })
  } finally {
    await handle.close()
  }
}

/** Prints for each secret that only opens whether a stored value needs it. */
async function printFormerSecrets(options: GlobalOptions, tenant: Parameters<typeof openRole>[1]): Promise<void> {
  const { id, settings } = tenant
  if (!hasSecret(settings) || (await resolveSecret(settings)).former.length === 0) return
  const handle = await openRole('users', tenant)
  try {
    const users = portsFor('users', settings.stores.users.kind, handle)
    const rotation = await rotationOf({ users, settings, tenant: id, clock: () => new Date(), timers })
    const until = rotation.formerUntil
    const mayWait = until !== null && until > new Date()
    for (const [at, { isBound, users, signingKeys }] of (await rotation.needsOfFormer()).entries()) {
      const needing = [
        ...(isBound ? ['the users are bound to it'] : []),
        ...(users > 0 ? [`provider tokens or second factors of ${users} users`] : []),
        ...(signingKeys > 0 ? [`${signingKeys} signing keys`] : []),
      ]
      const isNeeded = needing.length > 0
      const advice = mayWait
        ? `remove it after ${until.toISOString()}`
        : 'if it is the next secret, run "secret rotate" again; otherwise remove it'
      const text = isNeeded ? `${needing.join(', ')}: run "secret rotate"` : `no stored value needs it: ${advice}`
      const document = { formerSecret: at + 1, isNeeded, isBound, users, signingKeys, until }
      await printed(options, `former secret ${at + 1}: ${text}`, document)
    }
  } finally {
    await handle.close()
  }
}

/** Runs the missing migrations of each store, and prints its version. Throws `Unavailable` while another process migrates. */
export async function migrateStorage(options: GlobalOptions): Promise<ExitCode> {
  const tenant = await tenantHere(options, { withoutSecret: true })
  const { settings } = tenant
  for (const { store, roles } of distinctStores(settings.stores)) {
    const backend = pluginOf(store.kind)
    const openOptions = {
      ...placed(store, settings.dataFolder),
      ...commandOptions(tenant, warn),
      leavesMigrations: false,
    }
    const done = await namingRoles(roles, () => migrated(backend, openOptions))
    await printed(options, `${store.kind} (${roles.join(', ')}): ${done}`, { kind: store.kind, roles, done })
  }
  return 0
}

async function migrated(backend: StoreBackend, options: OpenOptions): Promise<string> {
  if (backend.schemas === undefined) return 'has no migrations of Portcullis'
  const before = await backend.schemas(options)
  if (before.found === null) return 'has no data yet'
  const handle = await backend.open(options)
  await handle.prepare().finally(() => handle.close())
  const { found, known } = await backend.schemas(options)
  if (found === before.found)
    return found === known ? `schema ${found}, nothing to do` : `schema ${found}, of a newer release`
  return `migrated from schema ${before.found} to ${found}`
}

/** Throws `Unavailable` or `Unsuitable` for a store that cannot be checked. */
async function faultsOf(backend: StoreBackend, options: OpenOptions): Promise<readonly string[]> {
  const faults = (await backend.check?.(options)) ?? []
  if (faults.length > 0) return faults
  const handle = await backend.open(options)
  try {
    await handle.prepare()
    await handle.ping() // a full disk or server answers reads
    return []
  } finally {
    await handle.close()
  }
}

export interface RolesOptions {
  readonly app: string
  readonly timeOuts?: true
}

/** Prints SQL for the administrator of the database: it lets the role of an app read and reference the users. */
export async function printRoles(options: GlobalOptions & RolesOptions): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const { stores, dataFolder } = settings
  const { rolesOf } = pluginOf(stores.users.kind)
  if (rolesOf === undefined) {
    throw settingsFault('stores.users.kind', `is ${stores.users.kind}: no app can share its users`)
  }
  const sql = await namingRoles(['users'], async () =>
    rolesOf(placed(stores.users, dataFolder), options.app, options.timeOuts === true),
  )
  await printed(options, sql, { sql })
  return 0
}

/** Copies the users, and everything that is stored with them, to a new file while the service runs. */
export async function makeBackup(options: GlobalOptions & { readonly to: string }): Promise<ExitCode> {
  const { settings } = await tenantHere(options, { withoutSecret: true })
  const { secret, dataFolder, stores } = settings
  const { backUp, backupProgram } = pluginOf(stores.users.kind)
  if (backUp === undefined) {
    const advice = backupProgram === undefined ? 'there is nothing to back up' : `use ${backupProgram}`
    throw settingsFault('stores.users.kind', `is ${stores.users.kind}: ${advice}`)
  }
  const file = resolve(options.to)
  await namingRoles(['users'], () => backUp(placed(stores.users, dataFolder), file))
  const where = secret === null ? ` in ${join(dataFolder, 'secret')}` : ''
  await printed(options, `The backup ${file} is complete`, { file })
  remark(`It works only with the secret${where}: keep a copy of both`)
  return 0
}
