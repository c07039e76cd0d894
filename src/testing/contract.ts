/** One sentence of a port's promise and how to see that it holds. Any test runner can run it. */
export interface ContractCase {
  readonly title: string
  run(): Promise<void>
}
