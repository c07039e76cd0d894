import { existsSync } from 'node:fs'
import { portsFor, type RolePorts, type StoreHandle } from '../adapters/stores/store-backend.ts'
import type { CausingRequest } from '../application/event-metadata.ts'
import { unlimited } from '../application/limits/limits.ts'
import { useCasesOf } from '../config/composition/container.ts'
import { openModule, sinkNamesOf } from '../config/composition/handlers.ts'
import { pageFor } from '../config/composition/mail.ts'
import { bindSecret, keyRingOf, resolveSecret } from '../config/composition/master-secret.ts'
import { lifetimesOf, userPortsOf } from '../config/composition/ports.ts'
import { openHasher, openHashPool } from '../config/composition/shared-resources.ts'
import { distinctStores, placed, pluginOf } from '../config/plugins/stores.ts'
import { settingsFault } from '../config/settings/schema/fault.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import type { TenantSettings } from '../config/settings/tenants.ts'
import type { User } from '../domain/user.ts'
import { openRole } from './open-role.ts'

/** The use cases of an operator, beside a running service. */
export type Operator = Awaited<ReturnType<typeof openOperator>>

/**
 * Opens the store of the users. Throws when it does not answer.
 *
 * @param mustExist refuses a data folder without users, where the command would create an empty file
 */
export async function openOperator(
  owner: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
  { mustExist = false } = {},
) {
  const { id: tenant, settings } = owner
  const { stores, passwords } = settings
  const newFile = missingFile(settings)
  if (mustExist && newFile !== null) {
    // A folder of another user looks the same as a missing one.
    const message = `holds no users that this user can read (${newFile}): run the command where the service runs and as its user, or set dataFolder`
    throw settingsFault('dataFolder', message)
  }
  refuseMemory('users', settings)
  const handle = await openRole('users', owner)
  const { users, outbox, tokenRequests, secretMark } = portsFor('users', stores.users.kind, handle)
  const hasher = openHasher(settings, openHashPool(passwords))
  const ports = {
    ...userPortsOf(settings, { users, hasher, clock: () => new Date() }),
    tenant,
    outbox,
    tokenRequests,
    sinkNames: sinkNamesOf(settings),
    lifetimes: lifetimesOf(settings),
    limits: unlimited,
    freshLoginSeconds: null,
  }

  return {
    users,
    ...useCasesOf(ports, [
      'createSuperuser',
      'promoteUser',
      'listUsers',
      'changeAccount',
      'listUndelivered',
      'retryDeliveries',
      'discardDeliveries',
    ]),
    /** The file of the users, if this command has created it. */
    newFile,
    close: () => handle.close(),

    /**
     * Deletes a user, unless the handler of the settings objects, which is loaded for this.
     *
     * @param warn receives the warnings that the service would log
     */
    async deleteUser(
      input: CausingRequest & { target: User; isForced: boolean },
      warn: (text: string) => void,
    ): Promise<void> {
      const { eventHandlers, close } = await openModule(settings, warn)
      try {
        const { deleteUser } = useCasesOf({ ...ports, eventHandlers }, ['deleteUser'])
        await deleteUser.execute({ ...input, by: { type: 'command' } })
      } finally {
        await close()
      }
    },

    /** The link of the page that takes a reset token; `null` for a user who is not active. */
    async resetLink(user: User, publicUrl: string): Promise<{ link: string; expiresAt: Date } | null> {
      refuseDeadLink(settings)
      const master = await resolveSecret(settings)
      await bindSecret({ secretMark }, master, tenant)
      const { tokens, close } = await openTokens(owner, handle)
      try {
        const keyRing = keyRingOf(master, tenant)
        const issued = await useCasesOf({ ...ports, tokens, keyRing }, ['issueResetToken']).issueResetToken.execute(
          user,
        )
        if (issued === null) return null
        const { token, expiresAt } = issued
        return { link: `${pageFor('reset_password', settings, publicUrl)}#token=${token}`, expiresAt }
      } finally {
        await close()
      }
    },
  }
}

/** The file that the store of the users would create; `null` if it is there, or in a store without a file. */
function missingFile({ stores, dataFolder }: Settings): string | null {
  const { protocols, placeOf } = pluginOf(stores.users.kind)
  const file = protocols.length > 0 ? null : (placeOf?.(placed(stores.users, dataFolder)) ?? null)
  return file === null || existsSync(file) ? null : file
}

function refuseDeadLink({ mail, pages, routers }: Settings): void {
  if (mail.links.reset === undefined && !pages.enabled) {
    const message = 'is not set, and pages.enabled is off: the link would lead nowhere'
    throw settingsFault('mail.links.reset', message)
  }
  if (!routers.resetPassword.enabled) {
    throw settingsFault('routers.resetPassword.enabled', 'is off: no route would take the token of the link')
  }
}

/** The store of the tokens, which may be that of the users. */
async function openTokens(
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
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
