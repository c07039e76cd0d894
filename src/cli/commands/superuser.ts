import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import { settingsFault } from '../../config/settings/schema/fault.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import { type ExitCode, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'

const advice =
  'This superuser has no password: one that a stranger may have chosen is removed. To set one: user reset-link\n'

interface Options extends GlobalOptions {
  readonly email: string
  readonly passwordStdin?: true
  readonly promote?: true
}

/** Creates a superuser, or promotes a user. */
export async function createSuperuser(options: Options): Promise<ExitCode> {
  const parsed = parseEmail(options.email)
  if ('objection' in parsed) throw settingsFault('--email', parsed.objection)
  const { email } = parsed
  if (!options.promote && !options.passwordStdin) requireTerminal() // before a new store is created
  const by = { type: 'command' } as const
  const requestId = `cli-${randomUUID()}`
  return await withUsers({ ...options, mustExist: false }, async (users) => {
    const promoted = options.promote ? await users.promoteUser.execute({ email, requestId, by }) : null
    if (promoted !== null) {
      process.stderr.write(`${promoted.email} is a superuser now (${promoted.id})\n`)
      if (options.passwordStdin)
        process.stderr.write('The password on standard input is only for new users, and was not used\n')
      if (promoted.passwordHash === null) process.stderr.write(advice)
      return 0
    }
    const password = options.passwordStdin ? await readPassword() : await askForPassword()
    try {
      const user = await users.createSuperuser.execute({ email, password, requestId, by })
      process.stderr.write(`created superuser ${user.email} (${user.id})\n`)
      return 0
    } catch (thrown) {
      if (thrown instanceof InvalidInput) throw settingsFault('--email', thrown.problem)
      if (!(thrown instanceof Refusal && thrown.code === 'REGISTER_USER_ALREADY_EXISTS')) throw thrown
      warn(
        'this address has an account already: --promote makes it a superuser, and removes a password that somebody else may have chosen',
      )
      return 1
    }
  })
}

/** Reads standard input and removes only one newline at its end. */
async function readPassword(): Promise<string> {
  const bytes = await buffer(process.stdin)
  if (!isUtf8(bytes)) throw new Error('the password on standard input is not UTF-8')
  const text = bytes.toString()
  return text.endsWith('\n') ? text.slice(0, -1) : text
}

function requireTerminal(): void {
  if (!process.stdin.isTTY) throw new Error('there is no terminal to ask for the password: use --password-stdin')
}

/** Asks twice on the terminal, without echo. */
async function askForPassword(): Promise<string> {
  requireTerminal()
  const password = await ask('Password: ')
  if ((await ask('Again: ')) !== password) throw new Error('the two passwords differ')
  return password
}

async function ask(question: string): Promise<string> {
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silence, terminal: true })
  process.stderr.write(question)
  try {
    return await terminal.question('')
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
