import { ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { valueAt } from './identity.ts'

const placeholder = '{tenantid}'
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether one set of metadata describes many tenants, each with its own issuer. */
export function isForManyTenants(issuer: string): boolean {
  return issuer.includes(placeholder)
}

/** The issuer of the tenant that an ID token names. */
export function issuerOfTenant(issuer: string, idToken: unknown): string {
  return issuer.replace(placeholder, () => String(valueAt(idToken, 'tid'))) // a function, as a string may hold `$&`
}

/**
 * The account that an ID token names; its signature and issuer are verified already. A subject is unique only within
 * its tenant (Microsoft identity platform, "Access tokens": "Use tid claim when they locate data associated with the
 * subject of the claim").
 */
export function accountInTenant(idToken: unknown): string {
  const tenant = valueAt(idToken, 'tid')
  const subject = valueAt(idToken, 'sub')
  if (typeof tenant !== 'string' || !guid.test(tenant)) throw new ProviderFailed('the ID token names no tenant')
  if (typeof subject !== 'string' || subject === '') throw new ProviderFailed('the ID token has no subject')
  return `${tenant}/${subject}`
}

/**
 * Microsoft identity platform, "Access tokens", "Validate the signing key issuer": a key signs only for the issuer that
 * it names.
 *
 * @param keys the published keys of the provider, including the key of the ID token
 * @param jwt the encoded ID token
 */
export function demandKeyOfIssuer(idToken: unknown, keys: readonly object[], jwt: string): void {
  const header: unknown = JSON.parse(Buffer.from(jwt.slice(0, jwt.indexOf('.')), 'base64url').toString())
  const named = keys.filter((key) => valueAt(key, 'kid') === valueAt(header, 'kid'))
  const isTheirs = (key: object): boolean => {
    const owner = valueAt(key, 'issuer')
    return typeof owner === 'string' && issuerOfTenant(owner, idToken) === valueAt(idToken, 'iss')
  }
  if (named.length === 0 || !named.every(isTheirs))
    throw new ProviderFailed('the key of the ID token belongs to another issuer')
}
