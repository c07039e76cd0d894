import { extname } from 'node:path'
import { type Html, html } from '../html.ts'

/** The settings of the logo. */
export interface Logo {
  /** The absolute path of an image; `null` without one. */
  readonly logo: string | null
  /** The same, for the dark theme. */
  readonly logoDark: string | null
  /** Whether the name stands beside the logo. */
  readonly logoWithName: boolean
}

/** The last part of the path of the icon. */
export function iconNameOf({ logo }: Pick<Logo, 'logo'>): 'icon.svg' | `logo.${string}` {
  return logo === null ? 'icon.svg' : `logo.${extname(logo).slice(1)}`
}

/** The last part of the path of the image for the dark theme; `null` without one. */
export function darkNameOf({ logo, logoDark }: Pick<Logo, 'logo' | 'logoDark'>): `logo-dark.${string}` | null {
  return logo === null || logoDark === null ? null : `logo-dark.${extname(logoDark).slice(1)}`
}

/** The logo and the name of the service. Without a logo, our own icon stands beside the name. */
export function brandOn(base: string, brand: string, logo: Logo): Html {
  const hasName = logo.logo === null || logo.logoWithName
  const dark = darkNameOf(logo)
  const image = html`<img src="${base}/account/${iconNameOf(logo)}" alt="${hasName ? '' : brand}">`
  const themed =
    dark === null
      ? image
      : html`<picture><source srcset="${base}/account/${dark}" media="(prefers-color-scheme: dark)">${image}</picture>`
  return html`${themed}${hasName ? html`<span>${brand}</span>` : null}`
}
