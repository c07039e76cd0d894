import type { Logger } from '../../adapters/logging/log.ts'
import { passkeyVerifier } from '../../adapters/passkeys/passkey-verifier.ts'
import type { PasskeyVerifier } from '../../application/ports/passkey-verifier.ts'
import type { TenantTexts } from '../../application/ports/stores/tenant-texts.ts'
import { parseJson } from '../../lib/json-text.ts'
import { isAndroidApp } from '../../lib/origins.ts'
import { passkeyDomain } from '../settings/passkey-domain.ts'
import type { Settings } from '../settings/schema/schema.ts'

/** The passkeys of a tenant, whose pages are at `publicUrl` and at the allowed origins below its domain, and of its Android apps. */
export function passkeysOf(settings: Settings, publicUrl: string): PasskeyVerifier {
  const rpId = passkeyDomain(settings.security.passkeyDomain, publicUrl)
  const mayUse = (origin: string): boolean => {
    if (isAndroidApp(origin)) return true // the Digital Asset Links of the domain name the app
    const { hostname } = new URL(origin)
    return hostname === rpId || hostname.endsWith(`.${rpId}`)
  }
  const allowed = settings.http.allowedOrigins.filter((one) => URL.canParse(one) && mayUse(one))
  return passkeyVerifier({ rpId, origins: [new URL(publicUrl).origin, ...allowed] })
}

/** The record of the domains of all passkeys of a tenant, as a JSON list. */
const recordName = 'passkey domains'

async function domainsIn(tenantTexts: Pick<TenantTexts, 'read'>): Promise<{ text: string | null; domains: string[] }> {
  const text = await tenantTexts.read(recordName)
  const parsed = text === null ? { value: [] } : parseJson(text)
  return { text, domains: 'value' in parsed ? (parsed.value as string[]) : [] } // safe: `noteDomain` writes it
}

/** Adds the domain to the record. */
export async function noteDomain(tenantTexts: Pick<TenantTexts, 'read' | 'exchange'>, domain: string): Promise<void> {
  for (;;) {
    const { text, domains } = await domainsIn(tenantTexts)
    if (domains.includes(domain)) return
    if (await tenantTexts.exchange(recordName, text, JSON.stringify([...domains, domain]))) return
  }
}

/** Warns if there are passkeys that cannot be used, because they belong to another domain. */
export async function warnOfOtherDomains(
  tenantTexts: Pick<TenantTexts, 'read'>,
  { rpId }: Pick<PasskeyVerifier, 'rpId'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const others = (await domainsIn(tenantTexts)).domains.filter((one) => one !== rpId)
  if (others.length === 0) return
  log.warn(
    { domains: others, domain: rpId },
    'users have passkeys of another domain, which cannot be used: see security.passkeyDomain',
  )
}
