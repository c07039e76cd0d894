import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseJson, repeatedMembers, unexpectedAt } from '../../../lib/json-text.ts'
import type { Fault } from '../schema/fault.ts'
import { isGroup, memberOf } from '../schema/tree.ts'
import { configVariable, type Environment } from './environment.ts'

const standardFile = 'portcullis.config.json'

export interface ConfigFile {
  /** The absolute path; `null` if no file was named and the standard one does not exist. */
  readonly path: string | null
  readonly value: unknown
}

export interface Where {
  /** Defaults to `PORTCULLIS_CONFIG`, otherwise to `portcullis.config.json` if it exists. */
  readonly configFile?: string | undefined
  readonly env: Environment
  /** The folder where relative paths start, also those inside the file. */
  readonly cwd: string
}

/** Reads the settings file. A file with a fault has no value. */
export async function readConfigFile({ configFile, env, cwd }: Where): Promise<{ file: ConfigFile; fault?: Fault }> {
  const fromEnvironment = env[configVariable] || undefined
  const named = configFile ?? fromEnvironment
  const path = resolve(cwd, named ?? standardFile)
  const read = await readSettingsFile(path)
  if ('value' in read) return { file: { path, value: read.value } }
  if (read.problem === missing && named === undefined) return { file: { path: null, value: undefined } }
  const source =
    configFile === undefined && fromEnvironment !== undefined ? (`environment ${configVariable}` as const) : 'default'
  return { file: { path, value: undefined }, fault: { path: '', message: `${path} ${read.problem}`, source } }
}

const missing = 'does not exist'
const problemOf = new Map<unknown, string>([
  ['ENOENT', missing],
  ['ERR_ENCODING_INVALID_ENCODED_DATA', 'is not UTF-8'],
])

/** Reads a JSON object. A problem is worded so that it follows the name of the file. */
export async function readSettingsFile(
  path: string,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  let text: string
  try {
    // Reading a pipe without a writer never ends, and the exit of the process would wait for it.
    if (!(await stat(path)).isFile()) return { problem: 'is no regular file' }
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    const code = memberOf(error, 'code')
    return { problem: problemOf.get(code) ?? `cannot be read (${String(code)})` }
  }
  const parsed = parseJson(text)
  if ('offset' in parsed) return { problem: notJson(text, parsed.offset ?? unexpectedAt(text)) }
  const [twice] = repeatedMembers(text)
  if (twice !== undefined) return { problem: `has ${twice.join('.')} twice` }
  return isGroup(parsed.value) ? parsed : { problem: 'must be an object that holds settings' }
}

function notJson(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n')
  const rest = text.slice(offset)
  const isAfterComma = /^[}\]]/.test(rest) && /,\s*$/.test(text.slice(0, offset))
  const comment = /^(\/[/*]|#)/.test(rest) ? '; JSON has no comments' : ''
  const hint = isAfterComma ? `; JSON has no comma before ${rest[0]}` : comment
  return `is not JSON: line ${before.length}, column ${(before.at(-1) ?? '').length + 1}${hint}`
}
