export interface ScratchSpace {
  readonly path: string
  remove(): void
}

export function scratchSpace(wanted?: {
  /** A file system in memory. */
  readonly memory?: string
  /** How much is to be free in it, and of the memory that this process may have. */
  readonly bytes?: number
  /** `TMPDIR`, or `null` when that is not set. */
  readonly given?: string | null
}): ScratchSpace
