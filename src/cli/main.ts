import { setImmediate as nextTurn } from 'node:timers/promises'
import { Command, CommanderError } from 'commander'
import { version } from '../lib/version.ts'
import type { ExitCode } from './exit-code.ts'

/** Runs one command line; answers the exit code. Commands load what they need only when they are the one asked for. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  let code: ExitCode = 0
  process.stderr.on('error', () => undefined) // its reader is gone, or its disk is full: there is nobody left to tell
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return // who reads has read enough, as `head` does
    process.stderr.write(`portcullis: standard output cannot be written (${error.code})\n`)
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
      'settings file (default: PORTCULLIS_CONFIG, else portcullis.config.json, where there is one)',
    )
    .option('-t, --tenant <name>', 'the tenant that the command is about, where there are several')
  const configFile = (): string | undefined => program.opts<{ config?: string }>().config
  const tenant = (): string | undefined => program.opts<{ tenant?: string }>().tenant

  program
    .command('serve')
    .description('Serve the HTTP interface and deliver events, until SIGTERM or SIGINT')
    .action(async () => {
      outliveHangUp()
      const { serve } = await import('./serve.ts')
      code = await serve({ configFile: configFile(), tenant: tenant() })
    })

  program
    .command('worker')
    .description('Deliver events and sweep what has expired, without HTTP, until SIGTERM or SIGINT')
    .action(async () => {
      outliveHangUp()
      const { work } = await import('./worker.ts')
      code = await work({ configFile: configFile(), tenant: tenant() })
    })

  const tenants = program.command('tenant').description('See which tenants there are and which are disabled')
  tenants
    .command('list')
    .description('List the tenants, or the one of --tenant, and where they keep what is theirs')
    .action(async () => {
      const { listTenants } = await import('./tenants.ts')
      code = await listTenants({ configFile: configFile(), tenant: tenant() })
    })
  tenants
    .command('check')
    .description('Print what is wrong with disabled tenants, or with that of --tenant; exit 2 when there is one')
    .action(async () => {
      const { checkTenants } = await import('./tenants.ts')
      code = await checkTenants({ configFile: configFile(), tenant: tenant() })
    })

  const superuser = program
    .command('superuser')
    .description('Make superusers, who may read, change and delete all users')
  superuser
    .command('create')
    .description('Create an active, verified superuser; needs the storage only')
    .requiredOption('-e, --email <address>', 'the address')
    .option('--password-stdin', 'read the password from standard input, less one trailing newline')
    .option('--promote', 'make a user of this address a superuser, and remove a password that may be a stranger’s')
    .action(async (options: { email: string; passwordStdin?: true; promote?: true }) => {
      const { createSuperuser } = await import('./superuser.ts')
      code = await createSuperuser({ configFile: configFile(), tenant: tenant(), ...options })
    })

  const config = program.command('config').description('Check the settings before they are used')
  config
    .command('check')
    .description('Print the effective settings and where each came from, secrets masked; exit 2 when they are wrong')
    .option('--env', 'print the environment variable of every setting instead')
    .action(async (options: { env?: true }) => {
      const { checkConfig } = await import('./config.ts')
      code = await checkConfig({ configFile: configFile(), tenant: tenant(), ...options })
    })

  const events = program
    .command('events')
    .description('List and retry events that could not be delivered (dead letters)')
  events
    .command('list')
    .description('List the dead letters, first those that died first')
    .option('--limit <count>', 'how many at the most', '100')
    .action(async (options: { limit: string }) => {
      const { listEvents } = await import('./events.ts')
      code = await listEvents({ configFile: configFile(), tenant: tenant(), ...options })
    })
  events
    .command('retry')
    .description('Make dead letters due again')
    .argument('[id]', 'the id of one event')
    .option('--all', 'all of them')
    .action(async (id: string | undefined, options: { all?: true }) => {
      const { retryEvents } = await import('./events.ts')
      code = await retryEvents({ configFile: configFile(), tenant: tenant(), id, ...options })
    })

  try {
    await program.parseAsync(argv)
    await allPrinted()
    return code
  } catch (thrown) {
    // Commander has said what was wrong; asking for help is no error.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    const { explain } = await import('./explain.ts')
    const { text, blame, warnings } = explain(thrown)
    for (const warning of warnings) process.stderr.write(`portcullis: ${warning}\n`)
    process.stderr.write(`portcullis: ${text}\n`)
    return blame === 'settings' ? 2 : 1
  }
}

/** A pipe takes what it has room for, and the rest waits in this process. */
async function allPrinted(): Promise<void> {
  const { stdout } = process
  if (stdout.writableLength > 0) await new Promise<void>((resolve) => stdout.write('', () => resolve()))
  await nextTurn() // by then a fault was told
}

/**
 * Unless somebody listens, this signal ends a process, and to load what answers it takes a while. The settings are read
 * after that: there is nothing to read again.
 */
function outliveHangUp(): void {
  process.on('SIGHUP', () => undefined)
}
