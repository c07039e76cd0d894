import { tokenInLink } from '../../../../../lib/token-in-link.ts'
import { onClick } from './form.ts'
import { byId, data, say, texts } from './page.ts'
import { tabStorage } from './storage.ts'

const key = `portcullis.token${data.base}${location.pathname}`

// A link that is opened in the tab of an earlier one changes only the fragment, and that alone loads no page.
addEventListener('hashchange', () => location.reload())

/** The token of the link. Servers and their logs do not see the fragment of an address. */
export function linkToken(): string | null {
  const token = tokenInLink(location.href) ?? tabStorage?.getItem(key) ?? null
  tabStorage?.removeItem(key)
  return token
}

/** Keeps the token in this tab, for people who sign in first. */
export function keepToken(token: string): void {
  tabStorage?.setItem(key, token)
}

/** Removes the used token from the address bar and the history. */
export function forgetToken(): void {
  history.replaceState(null, '', location.pathname)
}

/** Asks for the link of the message, instead of `part` of the page. Its token opens the page again. */
export function askForLink(part: string): void {
  byId(part).hidden = true
  byId('paste').hidden = false
  say(texts.noToken, 'bad')
  const field = byId<HTMLInputElement>('link')
  const open = (): boolean => {
    const token = tokenInLink(field.value)
    if (token !== null) location.hash = `token=${token}`
    return token !== null
  }
  field.addEventListener('input', open)
  onClick(byId('open-link'), async () => {
    const isOpened = open()
    byId('link-fault').textContent = isOpened ? '' : texts.noLink
    field.setAttribute('aria-invalid', String(!isOpened))
    if (!isOpened) field.focus()
  })
}
