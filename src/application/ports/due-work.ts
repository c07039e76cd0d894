/** Work that waits in a store until it is due. Loops and schedulers use this interface. */
export interface DueWork {
  /**
   * Starts due work, as far as the concurrency limit allows, and returns the number of tasks. It does not wait for
   * them: `ended` is called as each one ends, because more may start then.
   */
  startDue(ended?: () => void): Promise<number>
  /** The time at which more may be due; `null` when it is unknown, or known only after a task has ended. */
  nextDue(): Promise<Date | null>
  /** Resolves when no task runs. */
  idle(): Promise<void>
  /** Releases the unfinished work, so that other processes can start it at once. */
  giveBack(): Promise<void>
}
