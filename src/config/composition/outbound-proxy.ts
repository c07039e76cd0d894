import type { OutboundProxy } from '../../adapters/oauth/proxy.ts'
import { percentHint } from '../../lib/percent-decoded.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Environment } from '../settings/sources/environment.ts'

/**
 * The proxy for requests to providers, which all use TLS; `null` for none. `HTTPS_PROXY` precedes `HTTP_PROXY`, and a
 * name in lower case precedes one in upper case, as in undici and curl. Throws `SettingsFault` for an unusable address.
 */
export function outboundProxy(env: Environment): OutboundProxy | null {
  const given = (name: string) => env[name.toLowerCase()] || env[name] || null
  const name = given('HTTPS_PROXY') === null ? 'HTTP_PROXY' : 'HTTPS_PROXY'
  const text = given(name)
  if (text === null) return null
  const address = text.includes('://') ? text : `http://${text}`
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    const hint = url === null && text.includes('@') ? `; ${percentHint}` : ''
    throw settingsFault(name, `must be the address of a proxy: http://host:port or https://host:port${hint}`)
  }
  return { url, exceptions: (given('NO_PROXY') ?? '').split(/[\s,]+/).filter((one) => one !== '') }
}
