import { tokenInLink } from '../../../../../lib/token-in-link.ts'
import type { PageName } from '../page-data.ts'
import { onClick } from './form.ts'
import { byId, data, pageUrl, retitle, say, texts } from './page.ts'
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

/** Hides a part that can do nothing for a dead link. The link to another page becomes a button. */
export function leaveOnlyWayOn(part: string): void {
  byId(part).hidden = true
  document.querySelector('.links a')?.classList.add('button')
}

/** A link of the other kind of message leads to its own page. */
const linkedPage = /\/account\/(reset|verify|factors)\b/

/** Asks for the link of the message, instead of `part` of the page. Its token opens the page again. */
export function askForLink(part: string): void {
  byId(part).hidden = true
  byId('paste').hidden = false
  retitle(texts.linkNotComplete)
  say(texts.noToken, 'bad')
  const field = byId<HTMLInputElement>('link')
  const open = (): boolean => {
    const token = tokenInLink(field.value)
    const page = linkedPage.exec(field.value)?.[1] as PageName | undefined // safe: the pattern has names of pages only
    if (token !== null) location.assign(`${page === undefined ? '' : pageUrl(page)}#token=${token}`)
    return token !== null
  }
  field.addEventListener('input', open)
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') byId('open-link').click()
  })
  onClick(byId('open-link'), async () => {
    const isOpened = open()
    byId('link-fault').textContent = isOpened ? '' : texts.noLink
    field.setAttribute('aria-invalid', String(!isOpened))
    if (!isOpened) field.focus()
  })
}
