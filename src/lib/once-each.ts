/** The limit of names, which clients choose. */
const mostNames = 100

/** Calls `tell` once for each name, so that a client cannot fill the log. */
export function onceEach(tell: (name: string) => void): (names: readonly string[]) => void {
  const told = new Set<string>()
  return (names) => {
    for (const name of names.map((one) => one.slice(0, 64))) {
      if (told.size >= mostNames || told.has(name)) continue
      told.add(name)
      tell(name)
    }
  }
}
