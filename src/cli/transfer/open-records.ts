import { randomBytes } from 'node:crypto'
import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { objectionToHash } from '../../adapters/crypto/hash-schemes.ts'
import { newId } from '../../adapters/crypto/new-id.ts'
import { providerVault } from '../../adapters/crypto/provider-vault.ts'
import { presentUsers } from '../../adapters/stores/present-users.ts'
import { keepIds, portsFor } from '../../adapters/stores/store-backend.ts'
import { bindSecret, hasSecret, keyRingOf, markOf, resolveSecret } from '../../config/composition/master-secret.ts'
import { rulesOf } from '../../config/composition/ports.ts'
import { SettingsFault } from '../../config/settings/schema/fault.ts'
import type { TenantSettings } from '../../config/settings/tenants.ts'
import { orClose } from '../../lib/closing.ts'
import { foundSchema, openRole } from '../open-role.ts'
import { openBeside, refuseMemory } from '../operator.ts'
import { warn } from '../output.ts'
import { type GlobalOptions, tenantHere } from '../settings.ts'

/** A busy MongoDB answers the last of many too late. In SQLite, fewer commits write fewer pages. */
const batchSizes: Readonly<Record<string, number>> = { mongo: 32, sqlite: 250 }

export type Records = Awaited<ReturnType<typeof openRecords>>

/**
 * Opens the stores of a tenant for an import or an export. A new store is made, and bound to the secret and to the kind of ids. A
 * dry run makes none: an empty store in memory stands for it.
 */
export async function openRecords(options: GlobalOptions & { readonly dryRun?: true }) {
  const given = await tenantHere(options)
  refuseMemory('users', given.settings)
  const tenant = options.dryRun && (await foundSchema(given)) === null ? inMemory(given) : given
  const { settings } = tenant
  const handle = await openRole('users', tenant)
  return await orClose(opened(), () => handle.close())

  async function opened() {
    const role = portsFor('users', settings.stores.users.kind, handle)
    const { users, userIds, expiringMarks, loginTimes, tenantTexts } = role
    await keepIds({ userIds }, settings.ids)
    const master = await resolveSecret(settings)
    await bindSecret({ tenantTexts }, master, tenant.id)
    const keyRing = keyRingOf(master, tenant.id)
    const fieldRules = rulesOf(settings)
    const beside = await openBeside('sessions', tenant, handle).catch((thrown: unknown) => {
      if (!(thrown instanceof SettingsFault)) throw thrown
      warn(`without sessions: ${thrown.message}`)
      return null
    })
    const sessions = beside === null ? null : portsFor('sessions', settings.stores.sessions.kind, beside.store).sessions
    return {
      tenant: tenant.id,
      userIds,
      target: {
        users: presentUsers(users, { fieldRules, clock: () => new Date() }),
        sessions,
        expiringMarks,
        loginTimes,
      },
      sealedBy: markOf(master, tenant.id),
      needs: {
        vault: providerVault(keyRing.providerTokenKey, keyRing.former.providerTokenKeys),
        fieldRules,
        ids: settings.ids,
        clock: () => new Date(),
        newId,
        parseEmail,
        hashObjection: objectionToHash,
        batchSize: batchSizes[settings.stores.users.kind] ?? 100,
      },
      close: async () => {
        await beside?.close()
        await handle.close()
      },
    }
  }
}

function inMemory<T extends Pick<TenantSettings, 'settings'>>(tenant: T): T {
  const { settings } = tenant
  const memory = { kind: 'memory' }
  const stores = { ...settings.stores, users: memory, sessions: memory, tokens: memory }
  // Otherwise the command would write a new secret to the data folder.
  const secret = hasSecret(settings) ? settings.secret : randomBytes(32).toString('base64')
  return { ...tenant, settings: { ...settings, stores, secret } }
}
