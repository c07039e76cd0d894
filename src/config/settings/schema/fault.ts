/** The source of a value. `file` alone stands for a file whose path is added later. */
export type Source =
  | 'default'
  | 'profile hardened'
  | 'preset fastapi-users'
  | 'file'
  | `file ${string}`
  | `environment ${string}`

/** One fault of the settings. Its message never repeats a value, except the path of a file. */
export interface Fault {
  /** Such as `stores.users.url`; empty for the whole file. */
  readonly path: string
  readonly message: string
  readonly source: Source
}

/** The settings cannot be used. Lists all faults. */
export class SettingsFault extends Error {
  override readonly name = 'SettingsFault'
  readonly faults: readonly Fault[]
  /** Warnings may explain a fault: an unknown variable may be a misspelt setting. */
  readonly warnings: readonly string[]

  constructor(faults: readonly Fault[], warnings: readonly string[] = []) {
    super(renderFaults(faults))
    this.faults = faults
    this.warnings = warnings
  }
}

/** A fault of one setting that was found after the sources were read. */
export function settingsFault(path: string, message: string): SettingsFault {
  return new SettingsFault([{ path, message, source: 'default' }])
}

/** One line for each fault. */
export function renderFaults(faults: readonly Fault[]): string {
  const lines = faults.map(({ path, message, source }) => {
    const where = source === 'default' ? '' : ` (${source})`
    return path === '' ? `${message}${where}` : `${path}: ${message}${where}`
  })
  return lines.join('\n')
}
