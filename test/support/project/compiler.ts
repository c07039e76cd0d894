import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { projectRoot } from './readme-blocks.ts'

const tsc = join(projectRoot, 'node_modules', 'typescript', 'bin', 'tsc')

/**
 * Compiles the project of this `tsconfig.json`; resolves to what the compiler complains of, file names relative to `cwd`,
 * and to `''` when nothing is wrong.
 */
export async function compile(tsconfig: string, cwd: string): Promise<string> {
  // In one thread: of several, each works out again most of the types that the others have, for twice the processor time.
  const args = [tsc, '-p', tsconfig, '--singleThreaded', '--pretty', 'false']
  try {
    await promisify(execFile)(process.execPath, args, { cwd })
    return ''
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout || error) // safe: execFile's errors have it
  }
}
