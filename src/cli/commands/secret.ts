import type { Rotation } from '../../config/composition/rotate-secret.ts'
import { objectionOfOperator } from '../agreement.ts'
import { openOperator } from '../operator.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, settingsHere, tenantsOfCommand, withUsers } from '../settings.ts'

type Options = GlobalOptions & { readonly yes?: true }

const millisecondsPerRemark = 1000

/** Does the next step of a change of the secret: of all tenants, or of the named one. May be repeated after an interruption. */
export async function rotateSecrets(options: Options): Promise<ExitCode> {
  const loaded = await settingsHere(options.configFile)
  const { enabled, disabled } = tenantsOfCommand(loaded, options.tenant)
  const areMany = loaded.settings.tenants.by !== undefined
  for (const id of disabled.keys()) warn(`the tenant ${id} is left out: its settings are wrong (tenant check)`)
  let code: ExitCode = disabled.size > 0 ? 1 : 0
  for (const tenant of enabled.values()) {
    const users = await openOperator(tenant, { mustExist: true })
    try {
      const found = await rotated(await users.secretRotation(), { ...options, tenant: areMany ? tenant.id : undefined })
      if (found !== 0) code = found
    } finally {
      await users.close()
    }
  }
  return code
}

const restart = 'Restart every service and worker, one after the other. Then run this command again'

async function rotated(rotation: Rotation, options: Options): Promise<ExitCode> {
  const { step, path } = rotation
  const whose = options.tenant === undefined ? '' : `${options.tenant}: `
  const document = { ...(options.tenant !== undefined && { tenant: options.tenant }), step, file: path }
  const done = async (text: string, next: string, more: object = {}): Promise<ExitCode> => {
    await printed(options, `${whose}${text}`, { ...document, ...more })
    if (next !== '') remark(next)
    return 0
  }
  switch (step) {
    case 'advice':
      warn(
        `${whose}the users are bound to the secret of the settings, so there is nothing to do. A new one goes into formerSecrets first, and then into secret (docs/stores.md#change-the-secret)`,
      )
      return 1
    case 'add':
      await rotation.add()
      return await done(`a new secret is in ${path}. It verifies, and signs nothing yet`, restart)
    case 'makeFirst': {
      const consequence = `${whose}This makes the new secret sign. Every service and worker must know it: restart them first if you have not since this command has added it`
      const objection = await objectionOfOperator(consequence, options)
      if (objection !== null) return objection
      await rotation.makeFirst()
      return await done(`the new secret in ${path} signs, from the next start on`, restart)
    }
    case 'drop': {
      const consequence = `${whose}This removes the former secret from ${path}. Browsers that have not logged in since the change count as new ones then`
      const objection = await objectionOfOperator(consequence, options)
      if (objection !== null) return objection
      await rotation.drop()
      return await done(`the former secret is no longer in ${path}`, '')
    }
    case 'reseal':
    case 'wait': {
      if (step === 'reseal') {
        // Until then they sign with the former secret, and the time from which it may go would be too early.
        const consequence = `${whose}This encrypts stored values with the new secret. Every service and worker must sign with it: restart them first if you have not`
        const objection = await objectionOfOperator(consequence, options)
        if (objection !== null) return objection
      }
      let toldAt = performance.now()
      const outcome = await rotation.reseal((count) => {
        if (performance.now() - toldAt < millisecondsPerRemark) return
        toldAt = performance.now()
        remark(`${whose}${count} users so far`)
      })
      if (outcome === null) {
        warn(`${whose}another "secret rotate" is running: wait for it, or stop it and repeat the command`)
        return 1
      }
      const { users, resealed, formerUntil, devicesUntil } = outcome
      const mayGo = formerUntil !== null && formerUntil <= new Date()
      const text = `${users} users are bound to the new secret. The provider tokens and second factors of ${resealed} of them were encrypted anew. ${mayGo ? 'The former secret may go' : `Keep the former secret until ${formerUntil?.toISOString()}`}`
      const then = path === null ? 'Then remove it from formerSecrets' : 'Then run this command again, which removes it'
      const devices = `The device cookies of browsers that do not log in until then need it until ${devicesUntil?.toISOString()}`
      return await done(text, `${then}. ${devices}`, { users, resealed, formerUntil, devicesUntil })
    }
  }
}

/** Binds the users to another secret, after the present one was lost or stolen. No service may run meanwhile. */
export async function replaceSecret(options: Options): Promise<ExitCode> {
  const consequence =
    'This replaces the secret: JWTs, links in messages, stored tokens of providers and second factors stop working. Stop every service and worker first'
  const objection = await objectionOfOperator(consequence, options)
  if (objection !== null) return objection
  return await withUsers({ ...options, withoutSecret: false, mustName: true }, async (users) => {
    const replaced = await users.replaceSecret()
    if (replaced === 'same') {
      warn('the secret in the settings is the present one: set a new one first')
      return 1
    }
    const { path: file } = replaced
    const where = file === null ? 'secret of the settings' : `new secret in ${file}`
    await printed(options, `The users are bound to the ${where} now`, { file })
    remark('End all sessions before you start the service: sessions end --all')
    return 0
  })
}
