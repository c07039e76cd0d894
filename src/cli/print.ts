/** Resolves when a slow reader has taken the line; `false` if nobody reads any more. */
export async function printed(line: string): Promise<boolean> {
  await new Promise<void>((resolve) => process.stdout.write(line, () => resolve()))
  return process.stdout.writable
}
