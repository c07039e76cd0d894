import type { Command } from 'commander'
import type { ExitCode } from '../output.ts'
import type { GlobalOptions } from '../settings.ts'
import type { AdoptOptions } from './adopt.ts'
import type { FormerImport } from './import-fastapi-users.ts'
import type { FormerOptions } from './users-to-fastapi-users.ts'

/** Adds the commands that move users between deployments. Each loads its own modules. */
export function addTransferCommands(
  program: Command,
  globalOptions: () => GlobalOptions,
  ended: (code: ExitCode) => void,
): void {
  const users = program.command('users').description('Export all users to a file, and import them')
  users
    .command('export')
    .description('Write all users with links, sessions and own fields to a new file; exit code 2 if it exists')
    .argument('<file>', 'the new file')
    .option('--with-hashes', 'also the password hashes, without which imported users have no password')
    .option(
      '--to-fastapi-users',
      'instead, write SQL for the database of fastapi-users: new users, and what has changed since their import',
    )
    .option('--users-table <name>', '(SQL) the table of the users', 'user')
    .option('--links-table <name>', '(SQL) the table of the links to providers', 'oauth_account')
    .option('--tokens-table <name>', '(SQL) the table of the sessions, if there is one')
    .option('--field <field=column>', '(SQL) the column of a field; may be repeated', listed)
    .action(async (file: string, options: FormerOptions & { withHashes?: true; toFastapiUsers?: true }) => {
      const all = { ...globalOptions(), ...options, file }
      if (options.toFastapiUsers) {
        const { exportToFastApiUsers } = await import('./users-to-fastapi-users.ts')
        return ended(await exportToFastApiUsers(all))
      }
      ended(await (await import('./users-file.ts')).exportUsers(all))
    })
  users
    .command('import')
    .description(
      'Store the users of such a file, after a dry run. It may be repeated, and goes on after an interruption',
    )
    .argument('<file>', 'the file')
    .option('--dry-run', 'only print what would be stored')
    .option('--yes', 'do not ask, and make no dry run')
    .option('--report <file>', 'the file with what was not stored (default: the name of the file with .report.jsonl)')
    .action(async (file: string, options: { dryRun?: true; yes?: true; report?: string }) => {
      const report = options.report ?? `${file}.report.jsonl`
      const { importUsersFile } = await import('./users-file.ts')
      ended(await importUsersFile({ ...globalOptions(), ...options, file, report }))
    })

  const importing = program
    .command('import')
    .description('Move the users of an app with fastapi-users')
    // Commands of this group cannot have options of these names: commander would give them to the group.
    .option('--adopt [users-table]', 'print the SQL that turns foreign keys of the app to the users in PostgreSQL')
    .option('--back', 'print the SQL that turns them back')
    .option(
      '--staying <table>',
      'a table whose keys stay; may be repeated (default: oauth_account, accesstoken)',
      listed,
    )
    .action(async (options: AdoptOptions) => {
      ended(await (await import('./adopt.ts')).printAdoption({ ...globalOptions(), ...options }))
    })
  importing
    .command('fastapi-users')
    .description(
      'Store the users of a fastapi-users 15 application with links, logins and own fields, after a dry run. It may be repeated',
    )
    .requiredOption(
      '--from <url>',
      'its database: postgresql://…, sqlite:… or mongodb://…, also as SQLAlchemy writes it',
    )
    .option('--sessions <url>', 'its Redis with stored logins: redis://…')
    .option('--sessions-prefix <text>', 'the key_prefix of RedisStrategy (default: fastapi_users_token:)')
    .option('--users-table <name>', 'the table or collection of users (default: user, or User of Beanie)')
    .option('--links-table <name>', 'the table of linked accounts (default: oauth_account)')
    .option('--tokens-table <name>', 'the table of stored logins (default: accesstoken, or AccessToken of Beanie)')
    .option(
      '--column <ours=theirs>',
      'another name of a column, such as links.oauth_name=provider; may be repeated',
      listed,
    )
    .option('--field <name=column>', 'the column of an own field, if its name differs; may be repeated', listed)
    .option('--lifetime <seconds>', 'the lifetime_seconds of DatabaseStrategy, or none')
    .option('--distrust-verified', 'do not trust that verified users own their addresses')
    .option('--dry-run', 'only print what would be stored')
    .option('--yes', 'do not ask, and make no dry run')
    .option('--report <file>', 'the file with what was not stored', 'fastapi-users.report.jsonl')
    .action(async (options: FormerImport) => {
      const { importFastapiUsers } = await import('./import-fastapi-users.ts')
      ended(await importFastapiUsers({ ...globalOptions(), ...options }))
    })
}

function listed(one: string, all: readonly string[] = []): readonly string[] {
  return [...all, one]
}
