import type { Texts } from './texts/en.ts'

/** The paths of the tenant, as the console shows them. The prefix of a disabled router is `null`. */
export interface ConsoleSite {
  readonly brand: string
  /** The prefix of the cookie backend. */
  readonly login: string
  readonly users: string
  readonly resetPassword: string | null
  readonly verify: string | null
  readonly factors: string | null
  /** Whether mail or a handler sends the link of an invitation. */
  readonly canInvite: boolean
  /** The time between the start of a reset of the factors and its end. */
  readonly factorResetHours: number
  /** Whether the console is at another port than the service. */
  readonly hasOwnPort: boolean
}

/** The data of the console for its script. */
export interface ConsoleData {
  /** The path of the tenant, such as `/t/acme`; empty without one. */
  readonly base: string
  readonly site: ConsoleSite
  readonly texts: Texts
  /** Whether the page names the command that makes the first superuser. */
  readonly needsSuperuser: boolean
  /** The titles of the deployer's fields, by their names. */
  readonly fieldTitles: Readonly<Record<string, string>>
  /** The titles of those that a search compares. */
  readonly searchedFields: readonly string[]
}
