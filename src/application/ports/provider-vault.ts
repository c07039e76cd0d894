import type { UserId } from '../../domain/ids.ts'

/** Encrypts providers' tokens for storage. A token sealed for one user and provider opens for no other. */
export interface ProviderVault {
  seal(token: string, userId: UserId, provider: string): string
  /** `null` for a text that was sealed with another secret, user or provider. */
  unseal(sealed: string, userId: UserId, provider: string): string | null
}
