/** Prints a line on standard output. Rejects when nobody can read it, so that its event is delivered again. */
export function printLine(line: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(line, (error) => (error ? reject(error) : resolve()))
  })
}
