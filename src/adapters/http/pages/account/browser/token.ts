import { data } from './page.ts'

const key = `portcullis.token${data.base}${location.pathname}`

// A link that is opened in the tab of an earlier one changes only the fragment, and that alone loads no page.
addEventListener('hashchange', () => location.reload())

/** The token of the link. Servers and their logs do not see the fragment of an address. */
export function linkToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token') ?? sessionStorage.getItem(key)
  sessionStorage.removeItem(key)
  return token === '' ? null : token
}

/** Keeps the token in this tab, for people who sign in first. */
export function keepToken(token: string): void {
  sessionStorage.setItem(key, token)
}

/** Removes the used token from the address bar and the history. */
export function forgetToken(): void {
  history.replaceState(null, '', location.pathname)
}
