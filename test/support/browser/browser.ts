import { accessSync, constants } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type BrowserContext, type BrowserContextOptions, type Cookie, chromium } from 'playwright-core'
import { skipIfMissing } from '../servers/obstacles.ts'

/** The browser of `launchBrowser` resolves this name, and those below it, to this machine, although it is no loopback name. */
export const namedHost = 'accounts.example'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** The Chromium of this machine: `CHROMIUM_PATH`, else the first one on the PATH. */
function chromiumPath(): string | undefined {
  const given = process.env.CHROMIUM_PATH
  if (given) return [given].find(isExecutable)
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export function needsBrowser(suite: Mocha.Context): void {
  const obstacle = `there is no Chromium at CHROMIUM_PATH, or no ${names.join(', ')} on the PATH`
  skipIfMissing(suite, chromiumPath() === undefined ? obstacle : null)
}

export interface TestBrowser {
  /** With cookies of its own. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  close(): Promise<void>
}

/** The cookies of a browser, perhaps those for `url`, without the device cookie, which stays after a logout. */
export async function sessionCookies(context: BrowserContext, url?: string): Promise<readonly Cookie[]> {
  return (await context.cookies(url)).filter(({ name }) => name !== '__Host-device')
}

/**
 * A Chromium that reaches this machine only. It keeps third-party cookies, unlike many browsers, so that a refusal comes
 * from the service.
 */
export async function launchBrowser({ blocksCookies = false } = {}): Promise<TestBrowser> {
  const executablePath = chromiumPath()
  if (executablePath === undefined) throw new Error('needsBrowser comes before launchBrowser')
  const profile = await mkdtemp(join(tmpdir(), 'portcullis-chromium-'))
  const defaults = blocksCookies ? { default_content_setting_values: { cookies: 2 } } : {}
  const preferences = { profile: { block_third_party_cookies: false, cookie_controls_mode: 0, ...defaults } }
  await mkdir(join(profile, 'Default'))
  await writeFile(join(profile, 'Default', 'Preferences'), JSON.stringify(preferences))

  const loopbackOnly = `MAP ${namedHost} 127.0.0.1, MAP *.${namedHost} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1`
  const first = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    // Its pages are ours, and root and most containers cannot have Chromium's own sandbox.
    chromiumSandbox: false,
    args: ['--disable-gpu', '--disable-quic', '--disable-sync', `--host-resolver-rules=${loopbackOnly}`],
  })
  const browser = first.browser()
  if (browser === null) throw new Error('Chromium runs as a part of something else')
  return {
    newContext: (options) => browser.newContext(options),
    async close() {
      await first.close()
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
