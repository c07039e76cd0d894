import { ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { valueAt } from './identity.ts'

const placeholder = '{tenantid}'
const guid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether one set of metadata speaks for many tenants, each of them an issuer of its own. */
export function isForManyTenants(issuer: string): boolean {
  return issuer.includes(placeholder)
}

/**
 * Who an ID token is about, whose signature and issuer are verified. Microsoft identity platform, "Access tokens":
 * "Use tid claim when they locate data associated with the subject of the claim", since a subject is one within its
 * tenant only.
 */
export function accountInTenant(idToken: unknown): string {
  const tenant = valueAt(idToken, 'tid')
  const subject = valueAt(idToken, 'sub')
  if (typeof tenant !== 'string' || !guid.test(tenant)) throw new ProviderFailed('the ID token is of no tenant')
  if (typeof subject !== 'string' || subject === '') throw new ProviderFailed('the account has no usable name')
  return `${tenant}/${subject}`
}

/**
 * "Validate the signing key issuer", from the same page: a key that belongs to one tenant signs for nobody else. A key
 * that does not say whose it is signs for nobody.
 *
 * @param keys what the provider publishes, the key of the ID token among them
 * @param jwt the ID token as it was sent
 */
export function demandKeyOfIssuer(idToken: unknown, keys: readonly object[], jwt: string): void {
  const header: unknown = JSON.parse(Buffer.from(jwt.slice(0, jwt.indexOf('.')), 'base64url').toString())
  const named = keys.filter((key) => valueAt(key, 'kid') === valueAt(header, 'kid'))
  const isTheirs = (key: object): boolean => {
    const owner = valueAt(key, 'issuer')
    const tenant = () => String(valueAt(idToken, 'tid')) // as it is: `$&` in a text would be a pattern
    return typeof owner === 'string' && owner.replace(placeholder, tenant) === valueAt(idToken, 'iss')
  }
  if (named.length === 0 || !named.every(isTheirs)) throw new ProviderFailed('another issuer signs')
}
