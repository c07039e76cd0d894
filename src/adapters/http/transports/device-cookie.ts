import type { DeviceTokens } from '../../../application/ports/device-tokens.ts'
import { type Email, emailKey } from '../../../domain/email.ts'
import type { Cookie, Reply } from '../reply.ts'
import { cookieValue } from './cookie-header.ts'

/** The cookie of a browser that has logged in before (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). */
export interface DeviceCookie {
  /** The token of a request, which may belong to any account; `null` without one. */
  read(header: string | undefined): string | null
  /** The reply to a login with the token that the browser gets. */
  give(reply: Reply, token: string): Reply
  /**
   * The reply to a registration or a reset, with a new token for this account.
   *
   * @param device the text that the browser has; `null` for none
   */
  addTo(reply: Reply, email: Email, device: string | null): Reply
  /** Makes the browser forget the account, and no other one. */
  removal(email: Email, device: string | null): Cookie
}

const yearSeconds = 365 * 24 * 60 * 60

interface Options {
  /** Whether browsers use TLS or loopback, where they keep Secure cookies. */
  readonly isSecure: boolean
  /** Browsers drop a Lax cookie in an answer to a page of another site. */
  readonly sameSite: Cookie['sameSite']
  /** Distinguishes the cookies of several tenants on one host. */
  readonly owner: string
}

export function deviceCookie(tokens: DeviceTokens, { isSecure, sameSite, owner }: Options): DeviceCookie {
  const attributes: Omit<Cookie, 'value'> = {
    name: `${isSecure ? '__Host-' : ''}device${owner === '' ? '' : `-${owner}`}`,
    maxAgeSeconds: yearSeconds,
    path: '/',
    httpOnly: true,
    secure: isSecure,
    sameSite,
  }
  const give = (reply: Reply, value: string): Reply => {
    return { ...reply, cookies: [...(reply.cookies ?? []), { ...attributes, value }] }
  }
  return {
    read: (header) => cookieValue(header, attributes.name),
    give,
    addTo: (reply, email, device) => give(reply, tokens.issue(emailKey(email), device)),
    removal(email, device) {
      const value = tokens.without(device ?? '', emailKey(email))
      return { ...attributes, value, ...(value === '' && { maxAgeSeconds: 0 }) }
    },
  }
}
