/** How long to measure; the defaults are what the figures in the documentation were measured with. */
export interface Effort {
  /** Rounds of what is compared, service and other in turn. */
  readonly rounds: number
  /** Of each round, and a tenth of each latency measurement. */
  readonly seconds: number
}

/** A line of the table. */
export interface Figure {
  readonly what: string
  readonly value: string
  /** What it is compared with, where there is such a thing. */
  readonly beside?: string
  readonly ratio?: string
  readonly goal?: { readonly text: string; readonly isMet: boolean }
}

/** One thing that is measured, by its name on the command line. */
export interface Measure {
  readonly name: string
  readonly run: (effort: Effort, say: (figure: Figure) => void) => Promise<void>
}
