import { objectionOfOperator } from '../agreement.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'

/** Binds the users to another secret, after the present one was lost or stolen. No service may run meanwhile. */
export async function replaceSecret(options: GlobalOptions & { readonly yes?: true }): Promise<ExitCode> {
  const consequence =
    'This replaces the secret: JWTs, links in messages and stored tokens of providers stop working. Stop every service and worker first'
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
