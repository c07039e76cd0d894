import { randomBytes } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { openHasher, openHashPool } from '../../config/composition/shared-resources.ts'
import { hasFactor } from '../../domain/factors.ts'
import { importMark } from '../../domain/user.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, tenantHere, withUsers } from '../settings.ts'
import { type FormerTables, foot, hasNumber, head, statementsFor } from './fastapi-users-sql.ts'

/** The options of the command beside the file. */
export interface FormerOptions {
  readonly usersTable: string
  readonly linksTable: string
  readonly tokensTable?: string
  /** `field=column`, each. */
  readonly field?: readonly string[]
}

/**
 * Writes SQL for the database of fastapi-users: users who were made here, and what has changed of imported ones. Exit code 2 if the
 * file exists already.
 */
export async function exportToFastApiUsers(
  options: GlobalOptions & FormerOptions & { readonly file: string },
): Promise<ExitCode> {
  const { file } = options
  const tables = tablesOf(options)
  if (tables === null) {
    warn('--field takes the name of a field and a column: --field plan=plan')
    return 2
  }
  const { settings } = await tenantHere(options, { withoutSecret: true })
  if (settings.ids === 'objectid') {
    const way = 'docs/moving-from-fastapi-users.md#back-to-mongodb has the way for it'
    warn(`--to-fastapi-users writes SQL, and an app with ObjectIds has MongoDB: ${way}`)
    return 2
  }
  return await withUsers(options, async ({ listUsers }) => {
    const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return null
      throw error
    })
    if (handle === null) {
      warn(`${file} exists already: give the name of a new file`)
      return 2
    }
    const hasher = openHasher(settings, openHashPool(settings.passwords))
    const unknown = await hasher.hash(randomBytes(32).toString('base64url'))
    const count = { created: 0, changed: 0, withFactor: 0 }
    let hasNumbers = false
    try {
      await handle.write(head)
      for await (const user of listUsers.execute({})) {
        if (hasFactor(user)) {
          count.withFactor++
          await handle.write(`-- ${user.id} has a second factor here, and none there.\n`)
        }
        const statements = statementsFor(user, tables, unknown)
        if (statements.length === 0) continue
        if (importMark(user) === null) count.created++
        else count.changed++
        hasNumbers ||= hasNumber(user)
        await handle.write(`${statements.join('\n')}\n`)
      }
      await handle.write(foot(tables, hasNumbers))
    } catch (error) {
      await rm(file, { force: true }) // half a file
      throw error
    } finally {
      await handle.close()
    }
    await printed(options, `${count.created} new users and ${count.changed} changed ones in ${file}`, {
      file,
      ...count,
    })
    if (count.withFactor > 0) {
      remark(`${count.withFactor} users have a second factor here, and none there: ${file} has a comment with each id`)
    }
    remark(
      'Passwords that were chosen here have argon2id hashes. An app whose PasswordHelper knows bcrypt alone answers 500 to their logins',
    )
    remark('Users who were deleted here are still there: delete them by hand')
    return 0
  })
}

function tablesOf({ usersTable, linksTable, tokensTable, field = [] }: FormerOptions): FormerTables | null {
  const columns = new Map<string, string>()
  for (const one of field) {
    const [name = '', column = '', ...more] = one.split('=')
    if (name === '' || column === '' || more.length > 0) return null
    columns.set(name, column)
  }
  return { users: usersTable, links: linksTable, tokens: tokensTable ?? null, columns }
}
