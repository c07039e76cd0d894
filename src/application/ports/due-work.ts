/** Work that waits in a store until it is due. What keeps time, a loop or a scheduler, sees the use case as this. */
export interface DueWork {
  /**
   * Takes on what is due, as far as there are free hands, and answers how many pieces it began. It does not wait
   * for them: `ended` is called as each one ends, when there may be more to take on.
   */
  startDue(ended?: () => void): Promise<number>
  /** When there could be more to take on; `null` when that is not known, or only once something has ended. */
  nextDue(): Promise<Date | null>
  /** Resolves when nothing is being done. */
  idle(): Promise<void>
  /** Lets others take on at once what is still being done here. */
  giveBack(): Promise<void>
}
