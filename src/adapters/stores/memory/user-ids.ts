import type { UserIds } from '../../../application/ports/stores/user-ids.ts'
import { type IdKind, kindOf, type UserId } from '../../../domain/ids.ts'

export interface MemoryUserIds extends UserIds {
  /** Called with the id of each inserted user. */
  taken(id: UserId): void
}

export function memoryUserIds(): MemoryUserIds {
  let kept: IdKind | null = null
  let last = 0
  return {
    async keep(kind) {
      kept ??= kind
      return kept
    },
    kept: async () => kept,
    next: async () => ++last,
    async skip(number) {
      last = Math.max(last, number)
    },
    taken(id) {
      if (kindOf(id) === 'integer') last = Math.max(last, Number(id))
    },
  }
}
