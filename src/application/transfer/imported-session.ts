const prefix = 'imported-session '

/** An expiring id which tells that an import has brought the session, so that a later one does not bring it again. */
export function importedSession(digest: string): string {
  return `${prefix}${digest}`
}

export function isImportedSession(id: string): boolean {
  return id.startsWith(prefix)
}
