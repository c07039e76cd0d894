import { type LoadedSettings, loadSettings } from '../config/load.ts'

/** The settings of this process: file, environment, and the folder it was started in. */
export function settingsHere(
  configFile: string | undefined,
  options: { withoutSecret?: boolean } = {},
): Promise<LoadedSettings> {
  return loadSettings({ configFile, env: process.env, cwd: process.cwd(), ...options })
}
