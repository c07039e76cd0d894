import type { batchRunner, Outcome, Step } from './batches.ts'

/** Short, since whoever wants the lock of a file finds it free by chance only: SQLite keeps no queue. */
const longestPauseMs = 10

/**
 * One file in the writer's thread, which writes a batch at a time. While another process has the lock, it tries again
 * now and then until the last caller has given up, and leaves the thread to other files in between.
 */
export function writtenFile(runner: ReturnType<typeof batchRunner>, answer: (outcomes: readonly Outcome[]) => void) {
  let retry: NodeJS.Timeout | undefined

  function write(steps: readonly Step[]): void {
    const outcomes = runner.run(steps)
    if (outcomes === 'locked') retry = setTimeout(write, Math.random() * longestPauseMs, steps)
    else answer(outcomes)
  }

  return {
    write,
    close(): void {
      clearTimeout(retry)
      runner.close()
    },
  }
}
