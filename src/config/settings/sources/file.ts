import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseJson, repeatedMembers } from '../../../lib/json-text.ts'
import type { Fault } from '../schema/fault.ts'
import { isGroup, memberOf } from '../schema/tree.ts'
import { configVariable, type Environment } from './environment.ts'

const standardFile = 'portcullis.config.json'

export interface ConfigFile {
  /** The absolute path; `null` if no file was named and the standard one does not exist. */
  readonly path: string | null
  readonly value: unknown
}

interface Where {
  readonly configFile?: string | undefined
  readonly env: Environment
  readonly cwd: string
}

/** Reads the settings file, and adds its problem to `faults`. */
export async function readConfigFile({ configFile, env, cwd }: Where, faults: Fault[]): Promise<ConfigFile> {
  const fromEnvironment = env[configVariable] || undefined
  const named = configFile ?? fromEnvironment
  const path = resolve(cwd, named ?? standardFile)
  const read = await readSettingsFile(path)
  if ('value' in read) return { path, value: read.value }
  if (read.isMissing && named === undefined) return { path: null, value: undefined }
  const source =
    configFile === undefined && fromEnvironment !== undefined ? (`environment ${configVariable}` as const) : 'file'
  faults.push({ path: '', message: `${path} ${read.problem}`, source })
  return { path, value: undefined }
}

interface Problem {
  readonly problem: string
  readonly isMissing: boolean
}

const maxBytes = 1024 * 1024

/** Reads a JSON object. A problem is worded so that it follows the name of the file. */
export async function readSettingsFile(path: string): Promise<{ readonly value: unknown } | Problem> {
  const read = await readJsonFile(path)
  if ('problem' in read) return read
  const [twice] = repeatedMembers(read.text)
  if (twice !== undefined) return { problem: `has ${twice.join('.')} twice`, isMissing: false }
  if (!isGroup(read.value)) return { problem: 'must be an object that holds settings', isMissing: false }
  return read
}

async function readJsonFile(path: string): Promise<{ readonly value: unknown; readonly text: string } | Problem> {
  let bytes: Buffer
  try {
    // Reading a pipe without a writer never ends, and the exit of the process would wait for it.
    const status = await stat(path)
    if (!status.isFile()) return { problem: 'is no regular file', isMissing: false }
    if (status.size > maxBytes) return { problem: `has more than ${maxBytes} bytes`, isMissing: false }
    bytes = await readFile(path)
  } catch (error) {
    const code = memberOf(error, 'code')
    const isMissing = code === 'ENOENT'
    return { problem: isMissing ? 'does not exist' : `cannot be read (${String(code)})`, isMissing }
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { problem: 'is not UTF-8', isMissing: false }
  }
  const parsed = parseJson(text)
  if ('value' in parsed) return { value: parsed.value, text }
  if (parsed.offset === null) return { problem: 'is not JSON', isMissing: false }
  const before = text.slice(0, parsed.offset).split('\n')
  const column = (before.at(-1) ?? '').length + 1
  return { problem: `is not JSON: line ${before.length}, column ${column}`, isMissing: false }
}
