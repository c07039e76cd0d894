/** One promise of a port, and a test of it that any test runner can run. */
export interface ContractCase {
  readonly title: string
  run(): Promise<void>
}
