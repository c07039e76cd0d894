/** Timers of the process. Use cases get them as a need, like the clock, so that tests can replace them. */
export interface Timers {
  pause(milliseconds: number): Promise<void>
  /** Calls `work` at this interval until the returned function is called. */
  every(milliseconds: number, work: () => void): () => void
}
