import type { Texts } from './texts/en.ts'

/** The pages and their scripts, by the last part of their paths. `account` is the path without such a part. */
export const pageNames = [
  'account',
  'sign-in',
  'sign-up',
  'forgot',
  'reset',
  'verify',
  'address',
  'password',
  'delete',
  'factors',
] as const
export type PageName = (typeof pageNames)[number]

/** The public routes that the pages call. The prefix of a disabled router is `null`. */
interface PageRoutes {
  /** The prefix of the cookie backend. */
  readonly login: string
  readonly users: string
  readonly register: string | null
  readonly resetPassword: string | null
  readonly verify: string | null
  /** Whether users can have second factors. */
  readonly factors: boolean
}

export interface PageProvider {
  readonly name: string
  /** For people, such as `GitHub`. */
  readonly label: string
  /** The address of an image, or its path with the path of the tenant; `null` without one. */
  readonly icon: string | null
  /** The prefixes of its routes; `null` if its settings name a page of a front end, or a backend without a cookie. */
  readonly login: string | null
  readonly associate: string | null
}

/** The data of a page for its script. */
export interface PageData {
  /** The path of the tenant, such as `/t/acme`; empty without one. */
  readonly base: string
  readonly routes: PageRoutes
  readonly providers: readonly PageProvider[]
  /** The other origins to which a page may lead back. */
  readonly allowedOrigins: readonly string[]
  /** Whether a registration sends the link that confirms the address. */
  readonly sendsLinkOnSignUp: boolean
  readonly minPasswordLength: number
  /** Whether browsers allow passkeys at the address of the service, and users may have them. */
  readonly passkeys: boolean
  /** 0: no browser is trusted. */
  readonly trustedBrowserDays: number
  readonly texts: Texts['script']
}
