import { setImmediate as nextTurn } from 'node:timers/promises'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { version } from '../lib/version.ts'
import type { RolesOptions } from './commands/storage.ts'
import { type ExitCode, warn } from './output.ts'
import type { GlobalOptions } from './settings.ts'
import { addTransferCommands } from './transfer/commands.ts'

/** Runs one command line and returns the exit code. Each command loads its own modules, so that it starts fast. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = 0
  process.stderr.on('error', () => undefined) // there is no other stream for a message
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return // the reader has read enough, like `head`
    warn(`standard output cannot be written (${error.code})`)
    process.exit(1)
  })
  const program = new Command('portcullis')
    .description('Self-hosted account service')
    .version(version)
    .exitOverride()
    .showHelpAfterError()
    .helpCommand('help [command]', 'Explain a command')
    .configureHelp({ showGlobalOptions: true })
    .option(
      '-c, --config <file>',
      'settings file (default: PORTCULLIS_CONFIG, otherwise portcullis.config.json if it exists)',
    )
    .option('-t, --tenant <name>', 'the tenant that the command is for')
    .option('--json', 'print results as JSON: a document, or a line for each item of a list')
  const globalOptions = (): GlobalOptions => {
    const {
      config: configFile,
      tenant,
      json = false,
    } = program.opts<{ config?: string; tenant?: string; json?: true }>()
    return { configFile, tenant, json }
  }

  const run = <O extends object>(command: (options: GlobalOptions & O) => Promise<ExitCode>) => {
    return async (options: O): Promise<void> => {
      code = await command({ ...globalOptions(), ...options })
    }
  }

  program
    .command('serve')
    .description('Serve the HTTP interface and deliver events, until SIGTERM or SIGINT')
    .option('--processes <count>', 'serve with so many processes on the same port; auto: one for each core', processes)
    .action(async ({ processes }: { processes?: number | 'auto' }) => {
      outlive('SIGHUP')
      if (processes === undefined) {
        const { serve } = await import('./commands/serve.ts')
        code = await serve(globalOptions())
      } else {
        outlive('SIGUSR2')
        const { serveMany } = await import('./processes/serve-many.ts')
        code = await serveMany(globalOptions(), processes, argv.slice(2))
      }
    })

  program
    .command('worker')
    .description('Deliver events and remove expired data, without HTTP, until SIGTERM or SIGINT')
    .action(async () => {
      outlive('SIGHUP')
      const { work } = await import('./commands/serve.ts')
      code = await work(globalOptions())
    })

  const tenants = program.command('tenant').description('List and check tenants')
  tenants
    .command('list')
    .description('List the tenants, or the one of --tenant, with the kinds of their stores')
    .action(run(async (options) => (await import('./commands/tenants.ts')).listTenants(options)))
  tenants
    .command('check')
    .description('Print the faults of all tenants, or of the one of --tenant; exit code 2 if there are any')
    .action(run(async (options) => (await import('./commands/tenants.ts')).checkTenants(options)))

  type Who = GlobalOptions & { readonly who: string }
  /** A command for one user, who is named by address or id. */
  const forOne = <O extends object>(
    group: Command,
    name: string,
    description: string,
    command: (options: Who & O) => Promise<ExitCode>,
  ): Command =>
    group
      .command(name)
      .description(description)
      .argument('<address-or-id>', 'the address of the user, or the id')
      .action(async (who: string, options: O) => {
        code = await command({ ...globalOptions(), ...options, who })
      })

  const force = ['--force', 'also the last active superuser'] as const

  const superuser = program
    .command('superuser')
    .description('Create, list and demote superusers, who may read, change and delete all users')
  superuser
    .command('create')
    .description('Create an active, verified superuser; needs only the store of users')
    .requiredOption('-e, --email <address>', 'the address')
    .option('--password-stdin', 'read the password from standard input, without one trailing newline')
    .option(
      '--promote',
      'make an existing user an active and verified superuser, and remove a password that a stranger may have chosen',
    )
    .action(
      run<{ email: string; passwordStdin?: true; promote?: true }>(async (options) =>
        (await import('./commands/superuser.ts')).createSuperuser(options),
      ),
    )
  superuser
    .command('list')
    .description('List the superusers: id, address, flags, time of creation')
    .action(run(async (options) => (await import('./commands/superuser.ts')).listSuperusers(options)))
  forOne<{ force?: true }>(superuser, 'demote', 'Take the rights of a superuser from a user', async (options) =>
    (await import('./commands/user-changes.ts')).demoteSuperuser(options),
  ).option(...force)

  const user = program
    .command('user')
    .description('Find and change users. A command for one user takes the address or the id')
  forOne<{ client?: string }>(
    user,
    'show',
    'Print a user, with linked accounts, stored sessions and the limits that the address has used',
    async (options) => (await import('./commands/user.ts')).showUser(options),
  ).option('--client <address>', 'also print the limits of this IP address, and its pauses for this user')
  forOne(
    user,
    'explain',
    'Print why somebody cannot log in, and what to do. The address need not be that of a user',
    async (options) => (await import('./commands/user-explanation.ts')).explainLogin(options),
  )
  forOne(user, 'export', 'Print everything that is stored about a user, as JSON, without secrets', async (options) =>
    (await import('./commands/user.ts')).exportUser(options),
  )
  user
    .command('list')
    .description('List users, the oldest first: id, address, flags, time of creation')
    .option('--search <text>', 'only users with this text in their address, or in a unique field')
    .option('--after <id>', 'only users behind this one')
    .option('--limit <count>', 'limit of the list', '100')
    .action(
      run<{ search?: string; after?: string; limit: string }>(async (options) =>
        (await import('./commands/user.ts')).listUsers(options),
      ),
    )
  user
    .command('create')
    .description('Create a user, with a password or an invitation')
    .argument('<address>', 'the address of the new user')
    .option('--invite', 'mail a link to choose the password, which also verifies the address')
    .option('--password-stdin', 'read the password from standard input, without one trailing newline')
    .option('--verified', 'the address counts as verified')
    .action(async (address: string, options: { invite?: true; passwordStdin?: true; verified?: true }) => {
      const { createUser } = await import('./commands/user-creation.ts')
      code = await createUser({ ...globalOptions(), address, ...options })
    })
  forOne(
    user,
    'invite',
    'Mail a user without a password the link to choose one, again or for the first time',
    async (options) => (await import('./commands/user-creation.ts')).inviteUser(options),
  )
  forOne(user, 'sessions', 'List the stored sessions of a user, the newest first', async (options) =>
    (await import('./commands/user.ts')).listSessions(options),
  )
  forOne(user, 'end-sessions', 'End every login of a user, also with JWTs', async (options) =>
    (await import('./commands/user-changes.ts')).endSessions(options),
  )
  forOne(user, 'verify', 'Mark the address of a user as verified', async (options) =>
    (await import('./commands/user-changes.ts')).verifyUser(options),
  )
  forOne<{ force?: true; reason?: string; until?: string }>(
    user,
    'disable',
    'Disable a user: no more logins, and all sessions end',
    async (options) => (await import('./commands/user-changes.ts')).disableUser(options),
  )
    .option('--until <time>', 'only until this time, such as 2030-01-31T12:00:00Z')
    .option('--reason <text>', 'why, for other operators and superusers')
    .option(...force)
  forOne(user, 'enable', 'Let a disabled user log in again', async (options) =>
    (await import('./commands/user-changes.ts')).enableUser(options),
  )
  forOne<{ yes?: true; force?: true }>(
    user,
    'delete',
    'Delete a user with all sessions, unless your handler on_before_delete objects',
    async (options) => (await import('./commands/user-changes.ts')).deleteUser(options),
  )
    .option(...force)
    .option('--yes', 'do not ask')
  const factors = user.command('factors').description('Reset the second factors of a user who has lost them')
  forOne<{ now?: true; yes?: true }>(
    factors,
    'reset',
    'Remove them after security.factorResetHours. Meanwhile the user is told, and can stop it',
    async (options) => (await import('./commands/user-changes.ts')).resetFactors(options),
  )
    .option('--now', 'at once')
    .option('--yes', 'do not ask')
  forOne(factors, 'keep', 'Stop the reset', async (options) =>
    (await import('./commands/user-changes.ts')).keepFactors(options),
  )
  forOne(user, 'reset-link', 'Print a link with which the user can set a new password, once', async (options) =>
    (await import('./commands/user-changes.ts')).printResetLink(options),
  )
  user
    .command('set-email')
    .description('Give a user another address, which is not verified then')
    .argument('<address-or-id>', 'the present address of the user, or the id')
    .argument('<new-address>', 'the new address')
    .action(async (who: string, address: string) => {
      code = await (await import('./commands/user-changes.ts')).setEmail({ ...globalOptions(), who, address })
    })

  user
    .command('set-field')
    .description('Give a user a value of a field of users.fields; without a value, take it away')
    .argument('<address-or-id>', 'the address of the user, or the id')
    .argument('<field>', 'the name of the field')
    .argument('[value]', 'a text, or JSON for numbers, true, false and lists')
    .action(async (who: string, field: string, value: string | undefined) => {
      const { setField } = await import('./commands/user-changes.ts')
      code = await setField({ ...globalOptions(), who, field, ...(value !== undefined && { value }) })
    })

  program
    .command('sessions')
    .description('End sessions')
    .command('end')
    .description('End every login of every user, also with JWTs. May be repeated after an interruption')
    .requiredOption('--all', 'of all users; for one user: user end-sessions')
    .option('--yes', 'do not ask')
    .action(run<{ yes?: true }>(async (options) => (await import('./commands/sessions.ts')).endAllSessions(options)))

  const secret = program.command('secret').description('Change the secret, or replace a stolen one')
  secret
    .command('rotate')
    .description('Do the next step of a change of the secret, and print the one after it. Nobody is logged out')
    .option('--yes', 'do not ask')
    .action(run<{ yes?: true }>(async (options) => (await import('./commands/secret.ts')).rotateSecrets(options)))
  secret
    .command('replace')
    .description('Bind the users to the secret of the settings, or to a new one in the data folder')
    .option('--yes', 'do not ask')
    .action(run<{ yes?: true }>(async (options) => (await import('./commands/secret.ts')).replaceSecret(options)))

  const keys = program.command('keys').description('List and replace the keys that sign tokens for other services')
  keys
    .command('list')
    .description('List the keys: next, current and previous ones')
    .action(run(async (options) => (await import('./commands/keys.ts')).listKeys(options)))
  keys
    .command('rotate')
    .description('Publish a next key, and print when it signs. Nobody is logged out')
    .action(run(async (options) => (await import('./commands/keys.ts')).rotateKeys(options)))
  keys
    .command('revoke')
    .description('Replace all keys at once, after one has leaked: ends every login with their tokens')
    .option('--yes', 'do not ask')
    .action(run<{ yes?: true }>(async (options) => (await import('./commands/keys.ts')).revokeKeys(options)))

  const config = program.command('config').description('Check the settings')
  config
    .command('check')
    .description('Print the effective settings with their sources, secrets masked; exit code 2 if they are wrong')
    .option('--env', 'print the environment variable of every setting instead')
    .action(run<{ env?: true }>(async (options) => (await import('./commands/config.ts')).checkConfig(options)))

  addTransferCommands(program, globalOptions, (ended) => {
    code = ended
  })

  const storage = program.command('storage').description('Check the stores')
  storage
    .command('check')
    .description(
      'Check the data of SQLite, connection and setup of servers, own fields, and former secrets; exit code 1 if a store has faults',
    )
    .action(run(async (options) => (await import('./commands/storage.ts')).checkStorage(options)))

  storage
    .command('migrate')
    .description('Change the stored data as this release needs them, before it starts')
    .action(run(async (options) => (await import('./commands/storage.ts')).migrateStorage(options)))

  storage
    .command('fields')
    .description('Fill the keys of unique fields, and list users with equal values; exit code 1 if there are any')
    .action(run(async (options) => (await import('./commands/storage-fields.ts')).keyFields(options)))

  storage
    .command('roles')
    .description('Print the SQL with which an app in the same PostgreSQL database may read and reference the users')
    .requiredOption('--app <role>', 'the role of the app')
    .option('--time-outs', 'end waits for locks and idle transactions of the app')
    .action(run<RolesOptions>(async (options) => (await import('./commands/storage.ts')).printRoles(options)))

  program
    .command('backup')
    .description('Copy the users from SQLite to a new file, while the service runs')
    .requiredOption('--to <file>', 'the new file')
    .action(run<{ to: string }>(async (options) => (await import('./commands/storage.ts')).makeBackup(options)))

  const mail = program.command('mail').description('Test the mail server')
  mail
    .command('test')
    .description('Send one message and print the answer of the server; exit code 1 if it was not taken')
    .requiredOption('--to <address>', 'the address')
    .action(run<{ to: string }>(async (options) => (await import('./commands/mail.ts')).testMail(options)))

  const events = program
    .command('events')
    .description('List undelivered events and requests for tokens, and retry or discard them')
  events
    .command('list')
    .description('List the dead letters, and then everything that waits')
    .option('--limit <count>', 'limit of the list', '100')
    .action(run<{ limit: string }>(async (options) => (await import('./commands/events.ts')).listEvents(options)))
  events
    .command('retry')
    .description('Deliver dead letters again')
    .argument('[id]', 'the id of one event')
    .option('--all', 'all of them')
    .option('--sink <name>', 'only those of this sink, also if only a program has its handlers')
    .action(async (id: string | undefined, options: { all?: true; sink?: string }) => {
      const { retryEvents } = await import('./commands/events.ts')
      code = await retryEvents({ ...globalOptions(), id, ...options })
    })
  events
    .command('discard')
    .description('Delete what was not delivered, waiting and dead: nobody gets it any more')
    .argument('[id]', 'the id of one event or request')
    .option('--sink <name>', 'only the deliveries to this sink; without an id, all of them')
    .option('--yes', 'do not ask')
    .action(async (id: string | undefined, options: { sink?: string; yes?: true }) => {
      const { discardEvents } = await import('./commands/events.ts')
      code = await discardEvents({ ...globalOptions(), id, ...options })
    })

  try {
    await program.parseAsync(argv)
    await allPrinted()
    return code
  } catch (thrown) {
    // Commander has printed the message. A request for help is no error.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    const { explain } = await import('./explain.ts')
    const { text, code, warnings } = explain(thrown)
    for (const warning of warnings) warn(warning)
    warn(text)
    return code
  }
}

/** Waits until a slow reader of standard output has taken everything. */
async function allPrinted(): Promise<void> {
  const { stdout } = process
  if (stdout.writableLength > 0) await new Promise<void>((resolve) => stdout.write('', () => resolve()))
  await nextTurn() // by then an error of the write has been emitted
}

/** Ignores a signal until the command handles it. Otherwise an early one would end the process. */
function outlive(signal: NodeJS.Signals): void {
  process.on(signal, () => undefined)
}

function processes(given: string): number | 'auto' {
  if (given === 'auto') return given
  if (!/^[1-9]\d?$/.test(given)) throw new InvalidArgumentError('give a number from 1 to 99, or auto')
  return Number(given)
}
