/** The entries that are enabled, with their names, in order of declaration. */
export function enabledOf<T extends { readonly enabled: boolean }>(
  entries: Readonly<Record<string, T>>,
): [string, T][] {
  return Object.entries(entries).filter(([, { enabled }]) => enabled)
}
