/** The days for which a store remembers an import. */
export const rememberedDays = 90

const session = 'imported-session '
const run = 'import-run '
const deleted = 'import-deleted '

/** An expiring mark which tells that an import has brought the session, so that a later one does not bring it again. */
export function importedSession(digest: string): string {
  return `${session}${digest}`
}

/** An expiring mark which tells that an import has written to this store, so that only this one goes on behind its cursor. */
export function importRun(id: string): string {
  return `${run}${id}`
}

/** An expiring mark which tells that an imported user was deleted here; without an id, that some user was. */
export function deletedImport(id = ''): string {
  return `${deleted}${id}`
}

/** Whether the id of an expiring mark belongs to an import to this store. Others are ends of credentials, and deletions. */
export function isOfOneStore(id: string): boolean {
  return [session, run].some((start) => id.startsWith(start))
}
