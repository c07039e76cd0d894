import { keepIds, portsFor, type StoreHandle, type StoreRole } from '../adapters/stores/store-backend.ts'
import type { UserExport } from '../application/accounts/export-user.ts'
import type { RequestFacts } from '../application/event-metadata.ts'
import type { LoginExplanation } from '../application/explain/explanation.ts'
import { countersOfSecrets } from '../application/limits/counters-of-secrets.ts'
import { unlimited } from '../application/limits/limits.ts'
import { type LimitState, ReadLimits } from '../application/limits/read-limits.ts'
import type { SessionView } from '../application/sign-in/list-sessions.ts'
import { useCasesOf } from '../config/composition/container.ts'
import { openModule, sinkNamesOf } from '../config/composition/handlers.ts'
import { pageFor } from '../config/composition/mail.ts'
import { bindSecret, hasSecret, keyRingOf, replaceSecret, resolveSecret } from '../config/composition/master-secret.ts'
import { demandsVerified, lifetimesOf, userPortsOf } from '../config/composition/ports.ts'
import { rotationOf } from '../config/composition/rotate-secret.ts'
import { openHasher, openHashPool } from '../config/composition/shared-resources.ts'
import { signingKeysOf } from '../config/composition/signing.ts'
import { distinctStores } from '../config/plugins/stores.ts'
import { settingsFault } from '../config/settings/schema/fault.ts'
import type { Settings } from '../config/settings/schema/schema.ts'
import type { TenantSettings } from '../config/settings/tenants.ts'
import { type Email, emailKey } from '../domain/email.ts'
import { factorsSince } from '../domain/factors.ts'
import type { User } from '../domain/user.ts'
import { orClose } from '../lib/closing.ts'
import { timers } from '../lib/timers.ts'
import { missingFile, openRole } from './open-role.ts'

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
  const { users, userIds, outbox, tokenRequests, tenantTexts, loginTimes, expiringMarks } = portsFor(
    'users',
    stores.users.kind,
    handle,
  )
  await orClose(keepIds({ userIds }, settings.ids), () => handle.close())
  const hasher = openHasher(settings, openHashPool(passwords))
  const clock = () => new Date()
  const userPorts = userPortsOf(settings, { users, userIds, hasher, clock })
  const ports = {
    ...userPorts,
    tenant,
    outbox,
    tokenRequests,
    expiringMarks,
    sinkNames: sinkNamesOf(settings),
    lifetimes: lifetimesOf(settings),
    deliveriesChanged: () => undefined, // the command prints it
    limits: unlimited,
    freshLoginSeconds: null,
    factorResetHours: settings.security.factorResetHours,
  }

  return {
    users: userPorts.users,
    fieldRules: userPorts.fieldRules,
    /** Whether messages reach users, or handlers of the settings get their tokens. */
    sendsTokens: ports.sinkNames.size > 1,
    loginTimes,
    ...useCasesOf(ports, [
      'createSuperuser',
      'createUser',
      'inviteUser',
      'promoteUser',
      'listUsers',
      'changeAccount',
      'logOutEverywhere',
      'removeFactors',
      'resetFactors',
      'keepFactors',
      'lookUpUser',
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
      input: RequestFacts & { target: User; isForced: boolean },
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
      await bindSecret({ tenantTexts }, master, tenant)
      const { store, close } = await openBeside('tokens', owner, handle)
      const { tokens } = portsFor('tokens', stores.tokens.kind, store)
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

    /** Binds the users to another secret: that of the settings, or a new one in the data folder. */
    replaceSecret: () => replaceSecret({ tenantTexts }, settings, tenant),

    /** The change from a former secret to another one. */
    secretRotation: () => rotationOf({ users: { users, tenantTexts }, settings, tenant, clock, timers }),

    /** The pairs of keys that sign tokens. */
    async signingKeys() {
      const master = await resolveSecret(settings)
      await bindSecret({ tenantTexts }, master, tenant)
      return signingKeysOf(settings, { tenantTexts, keyRing: keyRingOf(master, tenant), clock, added: () => undefined })
    },

    /** The stored sessions of a user. Throws `SettingsFault` where only the serving process has them. */
    async sessionsOf(user: User): Promise<readonly SessionView[]> {
      const { store, close } = await openBeside('sessions', owner, handle)
      try {
        const { sessions } = portsFor('sessions', stores.sessions.kind, store)
        const { listSessions } = useCasesOf({ ...ports, sessions }, ['listSessions'])
        return await listSessions.execute({ by: { type: 'command' }, target: user })
      } finally {
        await close()
      }
    },

    /** Everything about a user; without the sessions if `hasSessions` is `false`. Throws as `sessionsOf`. */
    async exportUser(user: User, { hasSessions = true } = {}): Promise<UserExport> {
      const { store, close } = hasSessions ? await openBeside('sessions', owner, handle) : nothing
      try {
        const sessions = store && portsFor('sessions', stores.sessions.kind, store).sessions
        const { exportUser } = useCasesOf({ ...ports, loginTimes, sessions }, ['exportUser'])
        return await exportUser.execute({ by: { type: 'command' }, target: user })
      } finally {
        await close()
      }
    },

    /**
     * The limits that the address of a user has used, and those of a `client` for it; otherwise the reason why nobody knows
     * them here. Throws `SettingsFault` where only the serving process has them.
     */
    async limitsOf(user: User, client: string | null): Promise<readonly LimitState[] | { readonly unknown: string }> {
      if (!settings.limits.enabled) return { unknown: 'limits.enabled is off' }
      if (!hasSecret(settings)) return { unknown: 'the secret is not set' } // the keys of the counters depend on it
      const master = await resolveSecret(settings)
      await bindSecret({ tenantTexts }, master, tenant)
      const { store, close } = await openBeside('sessions', owner, handle)
      try {
        const { limiter } = store
        if (limiter === undefined) return { unknown: 'the store of the sessions has no counters' }
        const readLimits = new ReadLimits({
          limiter: countersOfSecrets(limiter),
          clock,
          keyRing: keyRingOf(master, tenant),
          figures: settings.limits,
        })
        const { email, passwordVersion, factors } = user
        const ofUser = { account: emailKey(email), passwordVersion, factorsSince: factorsSince(factors) }
        return await readLimits.execute({ ...ofUser, client })
      } finally {
        await close()
      }
    },

    /** Tells why somebody with this address cannot log in. Throws `SettingsFault` where only the serving process knows it. */
    async explainLogin(email: Email, requestId: string): Promise<LoginExplanation> {
      const master = await resolveSecret(settings)
      await bindSecret({ tenantTexts }, master, tenant)
      const { store, close } = await openBeside('sessions', owner, handle)
      try {
        const { limiter, refusedLogins = noRefusedLogins } = store
        const { explainLogin } = useCasesOf(
          {
            ...ports,
            loginTimes,
            refusedLogins,
            keyRing: keyRingOf(master, tenant),
            limiter: countersOfSecrets(limiter ?? noCounters),
            limitFigures: settings.limits.enabled && limiter !== undefined ? settings.limits : null,
            secondFactor: settings.security.secondFactor,
            demandsVerified: demandsVerified(settings),
          },
          ['explainLogin'],
        )
        return await explainLogin.execute({ by: { type: 'command' }, email, requestId })
      } finally {
        await close()
      }
    },
  }
}

/** Of a store of sessions that keeps none: the serving process has them in its memory. */
const noRefusedLogins = { add: async () => undefined, list: async () => [] }
const noCounters = { add: async () => ({ points: 0, expiresIn: 0 }), clear: async () => undefined }

const nothing = { store: null, close: async () => undefined }

function refuseDeadLink({ mail, pages, routers }: Settings): void {
  if (mail.links.reset === undefined && !pages.enabled) {
    const message = 'is not set, and pages.enabled is off: the link would lead nowhere'
    throw settingsFault('mail.links.reset', message)
  }
  if (!routers.resetPassword.enabled) {
    throw settingsFault('routers.resetPassword.enabled', 'is off: no route would take the token of the link')
  }
}

/** The store of a role, which may be that of the users. Throws `SettingsFault` where only the serving process has it. */
export async function openBeside(
  role: 'sessions' | 'tokens',
  tenant: Pick<TenantSettings, 'id' | 'pathPrefix' | 'settings'>,
  ofUsers: StoreHandle,
): Promise<{ readonly store: StoreHandle; readonly close: () => Promise<void> }> {
  const { stores } = tenant.settings
  const isTheirs = distinctStores(stores).some(({ roles }) => roles.includes('users') && roles.includes(role))
  if (isTheirs) return { store: ofUsers, close: async () => undefined }
  refuseMemory(role, { stores })
  const store = await openRole(role, tenant)
  return { store, close: () => store.close() }
}

/** Throws `SettingsFault` if only the serving process has the records of the role. */
export function refuseMemory(role: StoreRole, { stores }: Pick<Settings, 'stores'>): void {
  if (stores[role].kind !== 'memory') return
  const message = `is memory: only the serving process can reach such ${role}`
  throw settingsFault(`stores.${role}.kind`, message)
}
