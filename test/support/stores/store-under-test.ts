import type { StoreUnderProof } from '../../../src/testing/cases.ts'

export interface StoreUnderTest extends StoreUnderProof {
  readonly name: string
  /** Runs once, before anything is opened. Resolves to the reason why the store cannot be tested here, or `null`. */
  start?(): Promise<string | null>
  /** Runs once, after everything was closed. */
  stop?(): Promise<void>
}
