import { existsSync } from 'node:fs'
import { derivedKeys } from '../../adapters/crypto/derived-keys.ts'
import { pathIn } from '../../adapters/stores/sqlite/data-file.ts'
import { portsFor, type RolePorts, type StoreHandle } from '../../adapters/stores/store-backend.ts'
import { CreateSuperuser } from '../../application/accounts/create-superuser.ts'
import { DeleteUser } from '../../application/accounts/delete-user.ts'
import { ListUsers } from '../../application/accounts/list-users.ts'
import { PromoteUser } from '../../application/accounts/promote-user.ts'
import { UpdateUser } from '../../application/accounts/update-user.ts'
import { ChangeUser } from '../../application/change-user.ts'
import { ListUndelivered, RetryDeliveries } from '../../application/deliveries/undelivered.ts'
import type { CausingRequest } from '../../application/event-metadata.ts'
import { unlimited } from '../../application/limits/limits.ts'
import { IssueResetToken } from '../../application/one-time-tokens/issue-reset-token.ts'
import type { User } from '../../domain/user.ts'
import { distinctStores } from '../plugins/stores.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant, type TenantSettings } from '../settings/tenants.ts'
import { openModule } from './handlers.ts'
import { pageFor } from './mail.ts'
import { bindSecret, resolveSecret } from './master-secret.ts'
import { openRole } from './open-role.ts'
import { lifetimesOf, userPortsOf } from './ports.ts'
import { openHasher, openHashPool } from './shared-resources.ts'

/** The users' store for a command, beside a running service. */
export type UserStoreSession = Awaited<ReturnType<typeof openUserStore>>

/**
 * Throws when the store does not answer.
 *
 * @param mustExist refuses a data folder without users, where the command would create an empty file
 */
export async function openUserStore(
  { id: tenant, settings }: Pick<TenantSettings, 'id' | 'settings'>,
  { mustExist = false } = {},
) {
  const { dataFolder, stores, passwords } = settings
  refuseMemory('users', settings)
  const file = stores.users.kind === 'sqlite' ? pathIn(dataFolder) : null
  const newFile = file === null || existsSync(file) ? null : file
  if (mustExist && newFile !== null) {
    // A folder of another user looks the same as a missing one.
    const message = `holds no users that this user can read (${newFile}): run the command where the service runs and as its user, or set dataFolder`
    throw settingsFault('dataFolder', message)
  }
  const handle = await openRole('users', { id: tenant, settings })
  const { users, outbox, tokenRequests, secretMark } = portsFor('users', stores.users.kind, handle)
  const hasher = openHasher(settings, openHashPool(passwords))
  const ports = userPortsOf(settings, { users, hasher, clock: () => new Date() })
  const deliveries = { ...ports, outbox, tokenRequests, lifetimes: lifetimesOf(settings) }
  const needs = { ...ports, changeUser: new ChangeUser(ports), freshLoginSeconds: null }

  return {
    users,
    createSuperuser: new CreateSuperuser(ports),
    promoteUser: new PromoteUser(needs),
    listUsers: new ListUsers(ports),
    updateUser: new UpdateUser({ ...needs, limits: unlimited, newAddressTokens: null }),
    listUndelivered: new ListUndelivered(deliveries),
    retryDeliveries: new RetryDeliveries(deliveries),
    /** The file of the users, if this command has created it. */
    newFile,
    close: () => handle.close(),

    /**
     * Deletes a user, unless the handler of the settings objects, which is loaded for this.
     *
     * @param warn receives the warnings that the service would log
     */
    async deleteUser(input: CausingRequest & { target: User }, warn: (text: string) => void): Promise<void> {
      const { eventHandlers, close } = await openModule(settings, warn)
      try {
        await new DeleteUser({ ...needs, tenant, eventHandlers }).execute({ ...input, by: { type: 'command' } })
      } finally {
        await close()
      }
    },

    /** The link of the page that takes a reset token; `null` for a user who is not active. */
    async resetLink(user: User, publicUrl: string): Promise<{ link: string; expiresAt: Date } | null> {
      if (settings.mail.links.reset === undefined && !settings.pages.enabled) {
        const message = 'is not set, and pages.enabled is off: the link would lead nowhere'
        throw settingsFault('mail.links.reset', message)
      }
      if (!settings.routers.resetPassword?.enabled) {
        throw settingsFault('routers.resetPassword.enabled', 'is off: no route would take the token of the link')
      }
      const keyOwner = tenant === defaultTenant ? null : tenant
      const master = await resolveSecret(settings)
      await bindSecret({ secretMark }, master, keyOwner)
      const keyRing = derivedKeys(master.secret, keyOwner)
      const { tokens, close } = await openTokens({ id: tenant, settings }, handle)
      try {
        const lifetimes = lifetimesOf(settings)
        const issued = await new IssueResetToken({ ...ports, tokens, keyRing, lifetimes }).execute(user)
        if (issued === null) return null
        const { token, expiresAt } = issued
        return { link: `${pageFor('reset_password', settings, publicUrl)}#token=${token}`, expiresAt }
      } finally {
        await close()
      }
    },
  }
}

/** The store of the tokens, which may be that of the users. */
async function openTokens(
  tenant: Pick<TenantSettings, 'id' | 'settings'>,
  ofUsers: StoreHandle,
): Promise<RolePorts<'tokens'> & Pick<StoreHandle, 'close'>> {
  const { stores } = tenant.settings
  const isTheirs = distinctStores(stores).some(({ roles }) => roles.includes('users') && roles.includes('tokens'))
  if (isTheirs) return { ...portsFor('tokens', stores.tokens.kind, ofUsers), close: async () => undefined }
  refuseMemory('tokens', { stores })
  const handle = await openRole('tokens', tenant)
  return { ...portsFor('tokens', stores.tokens.kind, handle), close: () => handle.close() }
}

function refuseMemory(role: 'users' | 'tokens', { stores }: Pick<Settings, 'stores'>): void {
  if (stores[role].kind !== 'memory') return
  const message = `is memory: only the serving process can reach such ${role}`
  throw settingsFault(`stores.${role}.kind`, message)
}
