/** Deletes at most `limit` records that are over. Returns how many. */
export function sweep<Key, Value>(records: Map<Key, Value>, isOver: (value: Value) => boolean, limit: number): number {
  const over = [...records].filter(([, value]) => isOver(value)).slice(0, limit)
  for (const [key] of over) records.delete(key)
  return over.length
}
