/** 0: done. 1: refused or failed. 2: wrong settings or arguments. */
export type ExitCode = 0 | 1 | 2

/** Tells the operator of a problem. */
export function warn(text: string): void {
  process.stderr.write(`portcullis: ${text}\n`)
}

/** Tells the operator something beside the result. */
export function remark(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** All control characters but tab and line feed. */
const controls = /(?![\t\n])\p{Cc}/gu
const escaped = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Prints a result on standard output: the text, or with `--json` the document in one line. Resolves when a slow reader has
 * taken it; `false` if nobody reads any more. Control characters, which people may have written in their names, would change
 * the terminal. So they are escaped, as in JSON.
 */
export async function printed({ json }: { readonly json: boolean }, text: string, document: object): Promise<boolean> {
  const line = (json ? JSON.stringify(document) : text).replace(controls, escaped)
  await new Promise<void>((resolve) => process.stdout.write(`${line}\n`, () => resolve()))
  return process.stdout.writable
}

/** Prints a table: its text, or with `--json` each row as a line. */
export async function printedRows(
  options: { readonly json: boolean },
  text: string,
  rows: readonly object[],
): Promise<void> {
  if (options.json) for (const row of rows) await printed(options, '', row)
  else await printed(options, text, rows)
}

/** Pads all columns but the last. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  return lines.map((line) => line.trimEnd()).join('\n')
}
