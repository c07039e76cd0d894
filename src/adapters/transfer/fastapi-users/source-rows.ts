/** Values by our names of the columns. */
export type Values = Readonly<Record<string, unknown>>

/** A user of the source, with everything that belongs to it. */
export interface SourceRow {
  /** The id as text. Rows are ordered by it, in the order of the database. */
  readonly key: string
  readonly user: Values
  /** Values of own fields, by their names. */
  readonly fields: Values
  readonly links: readonly Values[]
  readonly tokens: readonly Values[]
  /** Why the row cannot be read; `null` if it can. */
  readonly fault: string | null
}

/** The users whose addresses are verified come first, so that of two users with one address they are stored. */
export const passes = ['verified', 'unverified', 'other'] as const
/** `other`: rows whose ids have a form by which no rows can be ordered. */
export type Pass = (typeof passes)[number]

/** The rows of one database. Each method throws `Unavailable` if it does not answer. */
export interface SourceRows {
  /** The next users behind the key `after`, in the order of their ids; empty at the end. */
  page(pass: Pass, after: string | null): Promise<readonly SourceRow[]>
  /** Sentences about rows that belong to no user. */
  orphans(): Promise<readonly string[]>
  close(): Promise<void>
}

export const pageSize = 1000
/** More bytes in one row are no account of a person. All rows of a page are in memory. */
export const maxRowBytes = 64 * 1024
/** An import stores no more for a user. One more is read, to report it. */
export const maxLinks = 100
/** fastapi-users does not remove ended logins. The newest are read, and one more than an import takes, so that it says so. */
export const maxTokens = 1_001

export const tooLarge = `has more than ${maxRowBytes / 1024} KiB`
