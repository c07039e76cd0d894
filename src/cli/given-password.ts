import { isUtf8 } from 'node:buffer'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

/** The password of a new user: from standard input, or asked for on the terminal. */
export async function givenPassword({ passwordStdin }: { readonly passwordStdin?: true }): Promise<string> {
  return passwordStdin ? await readPassword() : await askForPassword()
}

/** Reads standard input and removes only one newline at its end. */
async function readPassword(): Promise<string> {
  const bytes = await buffer(process.stdin)
  if (!isUtf8(bytes)) throw new Error('the password on standard input is not UTF-8')
  const text = bytes.toString()
  return text.endsWith('\n') ? text.slice(0, -1) : text
}

export function requireTerminal(): void {
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
