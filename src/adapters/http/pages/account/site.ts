import type { Field } from '../../../../domain/field.ts'
import { textOn } from '../../../../lib/text-on.ts'
import type { Logo } from './brand-header.ts'
import type { PageData } from './page-data.ts'

/** The settings and paths of one tenant, as its pages show them. */
export interface Site
  extends Pick<
      PageData,
      'routes' | 'providers' | 'sendsLinkOnSignUp' | 'minPasswordLength' | 'trustedBrowserDays' | 'passkeys'
    >,
    Logo {
  /** Shown above each page; `null` without a name in the settings. */
  readonly name: string | null
  /** Such as `#245a8d`. */
  readonly color: string | null
  /** The address for questions; `null` without one. */
  readonly contact: string | null
  /** The absolute path of a CSS file, or `null`. */
  readonly css: string | null
  readonly allowedOrigins: readonly string[]
  /** Whether apps of other sites use the sign-in. */
  readonly hasApps: boolean
  /** Whether users may read everything that is stored about them. */
  readonly allowsExport: boolean
  /** Whether users may delete their own account. */
  readonly allowsDeletion: boolean
  /** The field of users that the sign-in takes in place of the address, with its titles by language; `null` if there is none. */
  readonly loginField: { readonly name: string; readonly title: Readonly<Record<string, string>> } | null
  /** The deployer's fields (`users.fields`). */
  readonly fields: readonly Field[]
  /** The SVG images of the presets in use, by the kind of the provider. */
  readonly marks: Readonly<Record<string, string>>
}

/** The path of the image of a preset. */
export function markPath(kind: string) {
  return `/account/providers/${kind}.svg` as const
}

/** The colour of buttons, with readable text on it. */
export function themeOf(color: string | null): string {
  return color === null ? '' : `:root { --accent: ${color}; --on-accent: ${textOn(color)}; }\n`
}
