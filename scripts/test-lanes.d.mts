export interface TestRun {
  /** Run first, one group after another: the files of a group at the same time, with nothing else beside them. */
  readonly alone: readonly (readonly string[])[]
  readonly together: readonly string[]
  /** Run one at a time beside `together`, in a process of their own that then runs some of `together`. */
  readonly waiting: readonly string[]
  /** How many processes run files of `together` at a time; one more once it is through with `waiting`. */
  readonly lanes: number
  /** How long a file may take. */
  readonly limitSeconds: number
  readonly cwd: string
  /** Options of Node. */
  readonly execArgv: readonly string[]
  /** Mocha's, for one test, in milliseconds. */
  readonly timeout: number
  readonly color: boolean
  print(text: string): void
}

export function runTests(run: TestRun): Promise<boolean>
