/** Where a value came from; an environment variable is named, `file` alone is the settings file. */
export type Source = 'default' | 'file' | `file ${string}` | `environment ${string}`

/** One thing that is wrong with the settings. No message ever repeats a value, except the path of a file. */
export interface Fault {
  /** `stores.users.url`; empty when it is the file as a whole. */
  readonly path: string
  readonly message: string
  readonly source: Source
}

/** The settings as given cannot be used. Lists everything that is wrong with them. */
export class SettingsFault extends Error {
  override readonly name = 'SettingsFault'
  readonly faults: readonly Fault[]
  /** What else was noticed: an unknown variable may be what a missing setting was meant to be. */
  readonly warnings: readonly string[]

  constructor(faults: readonly Fault[], warnings: readonly string[] = []) {
    super(renderFaults(faults))
    this.faults = faults
    this.warnings = warnings
  }
}

/** One line each, for standard error. */
export function renderFaults(faults: readonly Fault[]): string {
  return faults.map(renderFault).join('\n')
}

function renderFault({ path, message, source }: Fault): string {
  const where = source === 'default' ? '' : ` (${source})`
  return path === '' ? `${message}${where}` : `${path}: ${message}${where}`
}
