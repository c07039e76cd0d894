import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LoadedSettings, type LoadFrom, loadSettings } from '../../../src/config/settings/load.ts'
import { type Fault, SettingsFault } from '../../../src/config/settings/schema/fault.ts'

/** Long enough, and no sample. */
export const goodSecret = 'f3c1a9d07b5e482690ad13c7e5b82f64'

/** A fresh folder for every test of a suite, in which settings are loaded. */
export function settingsFolder(): SettingsFolder {
  const folder = new SettingsFolder()
  beforeEach(() => folder.open())
  afterEach(() => folder.remove())
  return folder
}

export class SettingsFolder {
  #path = ''

  get path(): string {
    return this.#path
  }

  /** The source of settings in a file of this folder. */
  source(name = 'portcullis.config.json'): `file ${string}` {
    return `file ${join(this.#path, name)}`
  }

  async open(): Promise<void> {
    this.#path = await mkdtemp(join(tmpdir(), 'portcullis-settings-'))
  }

  async remove(): Promise<void> {
    await rm(this.#path, { recursive: true })
  }

  /** Answers the whole path. */
  async write(name: string, text: string | Uint8Array): Promise<string> {
    const path = join(this.#path, name)
    await writeFile(path, text)
    return path
  }

  /** `file` becomes `portcullis.config.json`. */
  async load(file?: unknown, env: LoadFrom['env'] = {}): Promise<LoadedSettings> {
    if (file !== undefined) await this.write('portcullis.config.json', JSON.stringify(file))
    return loadSettings({ env, cwd: this.#path })
  }

  /** Everything that is wrong with them; empty when nothing is. */
  async faults(file?: unknown, env: LoadFrom['env'] = {}): Promise<readonly Fault[]> {
    return faultsOf(this.load(file, env))
  }
}

export async function faultsOf(action: Promise<unknown>): Promise<readonly Fault[]> {
  try {
    await action
    return []
  } catch (error) {
    if (error instanceof SettingsFault) return error.faults
    throw error
  }
}
