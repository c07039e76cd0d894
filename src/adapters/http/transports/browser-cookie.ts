import type { Cookie, Reply } from '../reply.ts'
import { cookieValue } from './cookie-header.ts'

/** A secret of one browser, to which a login that waits is bound: whoever has copied the challenge cannot go on with it. */
export interface BrowserCookie {
  /** `null` without a cookie of ours. */
  read(header: string | undefined): string | null
  /** The secret of the browser, or a new one. */
  of(header: string | undefined): string
  addTo(reply: Reply, value: string): Reply
}

/** Longer than any challenge lives. */
const seconds = 600
const form = /^[\w-]{43}$/

interface Options extends Pick<Cookie, 'sameSite'> {
  /** Whether browsers use TLS or loopback, where they keep Secure cookies. */
  readonly isSecure: boolean
  readonly newToken: () => string
}

export function browserCookie({ isSecure, sameSite, newToken }: Options): BrowserCookie {
  const name = `${isSecure ? '__Host-' : ''}browser`
  const read = (header: string | undefined): string | null => {
    const value = cookieValue(header, name)
    return value !== null && form.test(value) ? value : null
  }
  return {
    read,
    of: (header) => read(header) ?? newToken(),
    addTo(reply, value) {
      const cookie = { name, value, maxAgeSeconds: seconds, path: '/', httpOnly: true, secure: isSecure, sameSite }
      return { ...reply, cookies: [...(reply.cookies ?? []), cookie] }
    },
  }
}
