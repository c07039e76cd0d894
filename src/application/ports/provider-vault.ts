import type { UserId } from '../../domain/ids.ts'

/** Keeps providers' tokens unreadable at rest; what is sealed for one user and provider opens for no other. */
export interface ProviderVault {
  seal(token: string, userId: UserId, provider: string): string
  /** `null` for what this deployment's secret did not seal for this user and provider. */
  unseal(sealed: string, userId: UserId, provider: string): string | null
}
