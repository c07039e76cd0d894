/**
 * Begins `work` unless it runs; then it runs once more afterwards, however often it was asked for meanwhile. What runs
 * last has thus begun after the last call. `work` must not reject.
 */
export function oneAtATime(work: () => Promise<void>): () => void {
  let isRunning = false
  let isWanted = false

  async function run(): Promise<void> {
    isRunning = true
    while (isWanted) {
      isWanted = false
      await work()
    }
    isRunning = false
  }

  return () => {
    isWanted = true
    if (!isRunning) void run()
  }
}
