/** Runs at most `limit` tasks at once; the others wait, first in, first out. */
export class TaskQueue {
  readonly #waiting: (() => Promise<void>)[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get free(): number {
    return this.#limit - this.#running.size - this.#waiting.length
  }

  /** @param task handles its own faults and never rejects */
  run(task: () => Promise<void>): void {
    if (this.#running.size >= this.#limit) {
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

  drop(): void {
    this.#waiting.length = 0
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
