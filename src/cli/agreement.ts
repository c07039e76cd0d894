import { createInterface } from 'node:readline'
import { type ExitCode, remark, warn } from './output.ts'

/**
 * Asks on the terminal before a command that cannot be undone. Returns `null` to go on, otherwise the exit code: 1 if the
 * operator declines, 2 if there is neither a terminal nor `--yes`.
 */
export async function objectionOfOperator(
  consequence: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<ExitCode | null> {
  if (yes) return null
  if (!process.stdin.isTTY) {
    warn(`there is no terminal to ask: give --yes if you want this. ${consequence}`)
    return 2
  }
  process.stderr.write(`${consequence}\nGo on? [y/N] `)
  const lines = createInterface({ input: process.stdin, terminal: false }) // so that Ctrl-C ends the process
  const { value: answer = '' } = await lines[Symbol.asyncIterator]().next()
  lines.close()
  if (/^y(es)?$/i.test(answer.trim())) return null
  remark('Nothing was changed')
  return 1
}
