import { recoveryBinding, totpBinding } from '../../domain/factors.ts'
import type { User } from '../../domain/user.ts'
import { everyOne } from '../every-one.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { UserStore } from '../ports/stores/user-store.ts'

/** Opens what this secret alone has sealed. */
type Opener = Pick<ProviderVault, 'unseal'> & Pick<KeyRing, 'unsealFactor'>

const pageSize = 500

/** The numbers of users who have provider tokens or second factors by each of the secrets. */
export async function needsOfFormer(
  users: Pick<UserStore, 'list'>,
  secrets: readonly Opener[],
): Promise<readonly number[]> {
  const needs = secrets.map((opener) => ({ opener, users: 0 }))
  for await (const user of everyOne((after) => users.list(pageSize, after))) {
    for (const need of needs) if (needsSecret(user, need.opener)) need.users++
  }
  return needs.map((need) => need.users)
}

function needsSecret(
  { id, oauthAccounts, factors: { totp, recovery } }: User,
  { unseal, unsealFactor }: Opener,
): boolean {
  const opens = (sealed: string | undefined, binding: string) =>
    sealed !== undefined && unsealFactor(sealed, binding) !== null
  if (opens(totp?.sealedSecret, totpBinding(id)) || opens(recovery?.sealedKey, recoveryBinding(id))) return true
  return oauthAccounts.some(({ provider, sealedAccessToken, sealedRefreshToken }) =>
    [sealedAccessToken, sealedRefreshToken].some((sealed) => sealed !== null && unseal(sealed, id, provider) !== null),
  )
}
