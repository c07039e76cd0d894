/** The candidate that is most similar to `word`, or `null` if none is. Case and `_` do not count. */
export function mostSimilar(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null
  let least = Math.max(1, Math.floor(plain(word).length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(plain(word), plain(candidate))
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll('_', '')
}

/** Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (row[column] ?? 0) + (letter === to[column] ? 0 : 1)
      const isSwap = index > 0 && column > 0 && letter === to[column - 1] && from[index - 1] === to[column]
      const swapped = isSwap ? (before[column - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY
      next.push(Math.min(replaced, swapped, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[to.length] ?? 0
}
