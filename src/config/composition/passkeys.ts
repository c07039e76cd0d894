import type { Logger } from '../../adapters/logging/log.ts'
import { passkeyVerifier } from '../../adapters/passkeys/passkey-verifier.ts'
import { otherPasskeyDomains } from '../../application/passkeys/passkey-domains.ts'
import type { PasskeyVerifier } from '../../application/ports/passkey-verifier.ts'
import type { TenantTexts } from '../../application/ports/stores/tenant-texts.ts'
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

/** Warns if there are passkeys that cannot be used, because they belong to another domain. */
export async function warnOfOtherDomains(
  tenantTexts: TenantTexts,
  { rpId }: Pick<PasskeyVerifier, 'rpId'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const others = await otherPasskeyDomains(tenantTexts, rpId)
  if (others.length === 0) return
  log.warn(
    { domains: others, domain: rpId },
    'users have passkeys of another domain, which cannot be used: see security.passkeyDomain',
  )
}
