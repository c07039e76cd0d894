import type { Command } from 'commander'
import type { ExitCode } from '../../output.ts'
import type { GlobalOptions } from '../../settings.ts'

/** Runs a command with the options of all commands, and keeps its exit code. */
export type Run = (command: (options: GlobalOptions) => Promise<ExitCode>) => Promise<void>

/** Adds the commands that find and change users. */
export function addUserCommands(program: Command, run: Run): void {
  const user = program
    .command('user')
    .description('Find, disable and delete users, and make links that reset passwords')
  const forOne = (name: string, description: string) =>
    user.command(name).description(description).argument('<address>', 'the address of the user, or the id')

  forOne('show', 'Print a user').action(async (who: string) =>
    run(async (options) => (await import('./read.ts')).showUser({ ...options, who })),
  )
  user
    .command('list')
    .description('List users, the oldest first: id, address, flags, time of creation')
    .option('--search <text>', 'only users with this text in their address')
    .option('--after <id>', 'only users behind this one')
    .option('--limit <count>', 'limit of the list', '100')
    .action(async (own: { search?: string; after?: string; limit: string }) =>
      run(async (options) => (await import('./read.ts')).listUsers({ ...options, ...own })),
    )
  for (const isActive of [false, true]) {
    const [name, description] = isActive
      ? ['enable', 'Let a disabled user log in again']
      : ['disable', 'Let a user no longer log in, and end all sessions of the user']
    forOne(name, description).action(async (who: string) =>
      run(async (options) => (await import('./change.ts')).setActive({ ...options, who, isActive })),
    )
  }
  forOne('delete', 'Delete a user with all sessions, unless your handler on_before_delete objects').action(
    async (who: string) => run(async (options) => (await import('./change.ts')).deleteUser({ ...options, who })),
  )
  forOne('reset-link', 'Print a link with which the user can set a new password, once').action(async (who: string) =>
    run(async (options) => (await import('./change.ts')).printResetLink({ ...options, who })),
  )
}
