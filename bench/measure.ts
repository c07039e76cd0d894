/** The length of a measurement. The documented figures use the defaults. */
export interface Effort {
  /** Rounds of a comparison; service and reference alternate. */
  readonly rounds: number
  /** Seconds of each round, and a tenth of each latency measurement. */
  readonly seconds: number
}

/** A line of the table. */
export interface Figure {
  readonly what: string
  readonly value: string
  /** The reference of the comparison, if there is one. */
  readonly beside?: string
  readonly ratio?: string
  readonly goal?: { readonly text: string; readonly isMet: boolean }
}

/** A measurement with its name on the command line. */
export interface Measure {
  readonly name: string
  readonly run: (effort: Effort, say: (figure: Figure) => void) => Promise<void>
}
