import { type batchRunner, monotonicMs, type Outcome, type Step } from './write/batch.ts'

/** Short, since whoever wants the lock of a file finds it free by chance only: SQLite keeps no queue. */
const longestPauseMs = 10
/** Who opens the file waits longer for the thread to start, and for a lock no longer than everybody. */
const lockPatienceMs = 1_950

/**
 * One file in the writer's thread, which writes a batch at a time. While another process has the lock, it tries again
 * now and then until the last caller has given up, and leaves the thread to other files in between.
 */
export function writtenFile(runner: ReturnType<typeof batchRunner>, answer: (outcomes: readonly Outcome[]) => void) {
  let retry: NodeJS.Timeout | undefined

  function attempt(steps: readonly Step[], giveUpAt: number): void {
    const outcomes = runner.run(steps, giveUpAt)
    if (outcomes === 'locked') retry = setTimeout(attempt, Math.random() * longestPauseMs, steps, giveUpAt)
    else answer(outcomes)
  }

  return {
    write(steps: readonly Step[]): void {
      const lastCallerGivesUpAt = Math.max(...steps.map((step) => step.deadline))
      attempt(steps, Math.min(lastCallerGivesUpAt, monotonicMs() + lockPatienceMs))
    },

    close(): void {
      clearTimeout(retry)
      runner.close()
    },
  }
}
