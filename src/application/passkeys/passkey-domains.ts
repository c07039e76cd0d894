import type { TenantTexts } from '../ports/stores/tenant-texts.ts'

/** The text with the domains of all passkeys of a tenant, as a JSON list. */
const domainsName = 'passkey domains'

const parsed = (text: string | null): readonly string[] => (text === null ? [] : JSON.parse(text)) // safe: written below

/** Adds the domain of a new passkey. */
export async function notePasskeyDomain(texts: TenantTexts, domain: string): Promise<void> {
  for (;;) {
    const text = await texts.read(domainsName)
    const domains = parsed(text)
    if (domains.includes(domain)) return
    if (await texts.exchange(domainsName, text, JSON.stringify([...domains, domain]))) return
  }
}

/** The domains of passkeys that cannot be used, because the present one is another. */
export async function otherPasskeyDomains(texts: TenantTexts, domain: string | null): Promise<readonly string[]> {
  return parsed(await texts.read(domainsName)).filter((one) => one !== domain)
}
