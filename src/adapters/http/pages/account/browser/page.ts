import { checkedReturn } from '../../../../../lib/return-to.ts'
import { byId, element, filled } from '../../browser/dom.ts'
import type { PageData, PageName } from '../page-data.ts'
import { browserStorage, tabStorage } from './storage.ts'

export { byId, element, filled }

// Safe: the service writes the data into each page.
export const data = JSON.parse(document.body.dataset.page ?? '{}') as PageData
export const { texts } = data

/** Longer messages are no longer easy to read in bold. */
const longestBold = 90

/** Shows a message, which screen readers read out. */
export function say(text: string, tone: 'good' | 'bad' = 'good'): void {
  const message = byId('message')
  message.textContent = text
  message.className = text.length > longestBold ? `${tone} long` : tone
}

/** Changes the title of the page, such as after its form. */
export function retitle(text: string): void {
  const title = byId('title')
  document.title = document.title.replace(title.textContent, () => text)
  title.textContent = text
}

/** The messages that a page leaves for the next one. The set is closed, so that no link can choose the words. */
export type Notice =
  | 'created'
  | 'signedOut'
  | 'signedOutEverywhere'
  | 'addressSaved'
  | 'passwordSaved'
  | 'passwordAdded'
  | 'signInFirst'
  | 'again'

const noticeKey = `portcullis.notice${data.base}`

/** The message that the previous page has left. */
export const notice = (tabStorage?.getItem(noticeKey) ?? null) as Notice | null // safe: only `open` writes it
tabStorage?.removeItem(noticeKey)
if (notice !== null) say(texts[notice])

export const parameters = new URLSearchParams(location.search)

/** The code of a failed journey to a provider. It leaves the address bar, so that a reload does not show it again. */
export function takeError(): string | null {
  const rest = new URLSearchParams(parameters)
  rest.delete('error')
  if (parameters.has('error'))
    history.replaceState(null, '', `${location.pathname}${rest.size === 0 ? '' : `?${rest}`}`)
  return parameters.get('error')
}

// The origin of the page, because the service may be reached at several ports.
const rules = { ownOrigin: location.origin, allowedOrigins: data.allowedOrigins }

/** The address to return to, if the link to this page names a permitted one. */
export const returnTo = checkedReturn(parameters.get('return_to'), rules)
// Tells the developer of the page with the link why people do not come back.
if (returnTo === null && parameters.has('return_to')) {
  console.info('return_to is ignored: it must be an address of an origin in http.allowedOrigins')
}

/** The address of one of our pages, which keeps the way back. */
export function pageUrl(name: PageName, back: string | null = returnTo): string {
  const path = name === 'account' ? '/account' : `/account/${name}`
  return `${data.base}${path}${back === null ? '' : `?${new URLSearchParams({ return_to: back })}`}`
}

export function open(name: PageName, notice?: Notice, back: string | null = returnTo): void {
  if (notice !== undefined) tabStorage?.setItem(noticeKey, notice)
  location.assign(pageUrl(name, back))
}

/** The address after a sign-in: the one to return to, or the account. */
export const wayOn = returnTo ?? new URL(pageUrl('account', null), location.href).href

const mailKey = `portcullis.return${data.base}`
const mailMilliseconds = 24 * 60 * 60 * 1000

/** Keeps the way back for the link in a message, if it is opened in this browser. */
export function keepReturn(to: string | null = returnTo): void {
  if (to === null) browserStorage?.removeItem(mailKey)
  else browserStorage?.setItem(mailKey, JSON.stringify({ to, at: Date.now() }))
}

/** The address to return to from a page that a message links to: the link names it, or this browser has kept it. */
export function keptReturn(): string | null {
  if (returnTo !== null) return returnTo
  const { to = null, at = 0 } = JSON.parse(browserStorage?.getItem(mailKey) ?? '{}')
  return Date.now() - at < mailMilliseconds ? checkedReturn(to, rules) : null
}

/** The text of a link to an address to return to, unless that is one of our pages. */
export function backText(to: string): string | null {
  if (to.startsWith(`${location.origin}${data.base}/account`)) return null
  if (to.startsWith(`${location.origin}${data.base}/admin`)) return texts.backToConsole
  return filled(texts.backTo, { app: new URL(to).host })
}

/** The text of the button that leads to an address to return to, or to the account. */
export function wayText(to: string | null): string {
  if (to?.startsWith(`${location.origin}${data.base}/account/authorize?`)) return texts.goOn
  return (to && backText(to)) ?? texts.toAccount
}

const backLink = byId<HTMLAnchorElement>('back-to-app')
backLink.textContent = returnTo && backText(returnTo)
backLink.hidden = backLink.textContent === ''
if (returnTo !== null) backLink.href = returnTo

const addressKey = `portcullis.address${data.base}`

/** Keeps an address of an account for the next page with a field for it. Its URL would be in the history and in logs. */
export function keepAddress(email: string): void {
  tabStorage?.setItem(addressKey, email)
}

const addressField = document.querySelector<HTMLInputElement>('#form input[autocomplete=username]:not([hidden])')
if (addressField !== null) {
  addressField.value ||= tabStorage?.getItem(addressKey) ?? ''
  tabStorage?.removeItem(addressKey)
}

// Links between the pages keep the way back and the typed address, but no login name.
for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-page-name]')) {
  link.href = pageUrl(link.dataset.pageName as PageName) // safe: the markup names pages only
  link.addEventListener('click', () => {
    if (addressField?.value.includes('@')) keepAddress(addressField.value)
  })
}
