import Bowser from 'bowser'
import { largestNetworkOf } from '../../../domain/client-networks.ts'
import type { ClientTraits } from '../../../domain/session.ts'

/** Headers of browsers are shorter. The library tries many patterns on the text. */
const maxLength = 512

/** The names that the library knows. For any other client it answers with a part of the header. */
const browsers = new Set(Object.values(Bowser.BROWSER_MAP))
const systems = new Set(Object.values(Bowser.OS_MAP))

/** @param client as `ClientOf` answers it */
export function traitsOf(client: string | null, userAgent = ''): ClientTraits {
  const { browser, os } = Bowser.parse(userAgent.slice(0, maxLength) || ' ')
  return {
    network: client === null ? null : networkOf(client),
    browser: known(browser.name, browsers),
    system: known(os.name, systems),
  }
}

function known(name: string | undefined, names: ReadonlySet<string>): string | null {
  return name !== undefined && names.has(name) ? name : null
}

/** It shows region and internet provider, but not the person. */
function networkOf(client: string): string {
  const [first, second, third, fourth] = client.split('.')
  return fourth === undefined ? largestNetworkOf(client) : `${first}.${second}.${third}.0/24`
}
