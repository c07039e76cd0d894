/** Runs at most `hands` tasks at once; more wait for their turn. */
export class TaskQueue {
  readonly #waiting: (() => Promise<void>)[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #hands: number

  constructor(hands: number) {
    this.#hands = hands
  }

  get free(): number {
    return this.#hands - this.#running.size - this.#waiting.length
  }

  /** @param task answers for its own faults: it never rejects */
  run(task: () => Promise<void>): void {
    if (this.#running.size >= this.#hands) {
      this.#waiting.push(task)
      return
    }
    const run = task().finally(() => {
      this.#running.delete(run)
      const next = this.#waiting.shift()
      if (next !== undefined) this.run(next)
    })
    this.#running.add(run)
  }

  /** Forgets what waits. */
  drop(): void {
    this.#waiting.length = 0
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
