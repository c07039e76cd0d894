import { createInterface } from 'node:readline/promises'

/** 0: done. 1: refused or failed. 2: wrong settings or arguments. */
export type ExitCode = 0 | 1 | 2

/** Tells the operator of a problem. */
export function warn(text: string): void {
  process.stderr.write(`portcullis: ${text}\n`)
}

/** Resolves when a slow reader has taken the line; `false` if nobody reads any more. */
export async function printed(line: string): Promise<boolean> {
  await new Promise<void>((resolve) => process.stdout.write(line, () => resolve()))
  return process.stdout.writable
}

/** Whether the operator at the terminal agrees. `false` without a terminal. */
export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}
