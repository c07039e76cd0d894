/** Computes a value from the present object, once for each object. */
export function latest<Source, T>(current: () => Source, compute: (source: Source) => T): () => T {
  let known: { readonly of: Source; readonly value: T } | null = null
  return () => {
    const of = current()
    if (known?.of !== of) known = { of, value: compute(of) }
    return known.value
  }
}
