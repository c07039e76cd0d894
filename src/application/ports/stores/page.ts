/** A part of a list. While other processes change the list, a changed record may be missing or occur twice. */
export interface Page<T> {
  readonly items: readonly T[]
  /** The cursor of the next page; `null` on the last one, which may be empty. */
  readonly next: string | null
}

/** Waiting for its delivery, or given up (a dead letter). */
export type DeliveryState = 'waiting' | 'dead'
