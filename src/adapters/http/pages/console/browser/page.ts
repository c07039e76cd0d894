import { dateText } from '../../../../../lib/date-text.ts'
import { breakable, byId, element, filled } from '../../browser/dom.ts'
import type { ConsoleData } from '../console-data.ts'

export { byId, element, filled }

// Safe: the service writes the data into the page.
export const { base, site, texts, fieldTitles, searchedFields, needsSuperuser } = JSON.parse(
  document.body.dataset.page ?? '{}',
) as ConsoleData

/** Shows a message, which screen readers read out, and perhaps a link. */
export function say(text: string, tone: 'good' | 'bad' = 'good', ...more: HTMLElement[]): void {
  byId('message').replaceChildren(text, ...more)
  byId('message').className = tone
}

/** Removes the message about a fault that is over. */
export function takeBackFault(): void {
  if (byId('message').className === 'bad') say('')
}

let ownId: string | null = null

/** The id of the one who has opened the page; `null` before it is known. */
export const ownIdOrNull = (): string | null => ownId

/** Tells who is signed in. */
export function setOwnId(id: string): void {
  ownId = id
}

/** Whether a person is the one who is signed in. */
export const isOwn = (id: string): boolean => id === ownId

let left = ''

/** Leaves a message for the next view. */
export function leave(text: string): void {
  left = text
}

/** Shows the message that the view before has left. */
export function sayWhatWasLeft(): void {
  say(left)
  left = ''
}

/** Text of people, such as an address: its direction stays within it. */
export const data = (text: string, name = 'span'): HTMLElement =>
  element(name, { class: 'data', dir: 'auto' }, ...breakable(text))

/** With its zone: superusers tell times to people elsewhere. */
export function time(text: string): string {
  const at = new Date(text)
  return `${dateText(at, document.documentElement.lang)} ${zoneAt(at)}`
}

/** The zone of this machine, such as `CET` or `GMT+1`. */
export function zoneAt(at: Date): string {
  const locale = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang
  const parts = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
}

export function badge(text: string, tone = ''): HTMLElement {
  return element('span', { class: `badge ${tone}` }, text)
}

export function button(text: string, look: string, act: () => Promise<void> | void): HTMLElement {
  const made = element('button', { type: 'button', class: look }, text)
  made.addEventListener('click', async () => {
    if (made.getAttribute('aria-busy') === 'true') return
    made.setAttribute('aria-busy', 'true')
    try {
      await act()
    } finally {
      made.removeAttribute('aria-busy')
    }
  })
  return made
}

/** A section with a heading. */
export function section(title: string, ...content: (Node | string)[]): HTMLElement {
  return element('section', {}, element('h2', {}, title), ...content)
}

/** Rows, or the text for none. */
export function rows(all: readonly HTMLElement[], none: string): HTMLElement {
  return all.length === 0 ? element('p', { class: 'hint' }, none) : element('ul', { class: 'rows' }, ...all)
}

/** A section with rows; `null` without any. */
export function listSection(title: string, all: readonly HTMLElement[], ...more: HTMLElement[]): HTMLElement | null {
  return all.length === 0 ? null : section(title, element('ul', { class: 'rows' }, ...all), ...more)
}

/** A list of names and values; values that are `null` are left out. */
export function facts(all: Readonly<Record<string, Node | string | null>>): HTMLElement {
  const list = element('dl', {})
  for (const [name, value] of Object.entries(all)) {
    if (value !== null) list.append(element('dt', {}, name), element('dd', {}, value))
  }
  return list
}

/** A field with a label. */
export function field(
  label: string,
  attributes: Readonly<Record<string, string>>,
  look = '',
): readonly [HTMLElement, HTMLInputElement] {
  const id = `field-${attributes.name}`
  const input = element('input', { id, autocomplete: 'off', spellcheck: 'false', ...attributes }) as HTMLInputElement // safe: it is an input
  return [element('div', { class: `field ${look}` }, element('label', { for: id }, label), input), input]
}

/** A box with its label, ticked at first. */
export function box(
  label: string,
  attributes: Readonly<Record<string, string>>,
): readonly [HTMLElement, HTMLInputElement] {
  const id = `field-${attributes.name}`
  const input = element('input', { id, checked: '', ...attributes }) as HTMLInputElement // safe: it is an input
  return [element('div', { class: 'field box' }, input, element('label', { for: id, class: 'choice' }, label)), input]
}

type Show = (title: Node | string, ...content: (Node | string)[]) => void

let latest: Show | null = null

/**
 * Begins a view, which the result shows. Once another view has begun, it shows nothing: its answer came too late. A
 * question of the view before is cancelled.
 */
export function beginView(): Show {
  document.querySelector('dialog')?.close()
  const own: Show = (...view) => {
    if (latest === own) show(...view)
  }
  latest = own
  return own
}

/** Replaces the view, and takes the focus to its heading. */
const show: Show = (title, ...content) => {
  const heading = element('h1', { tabindex: '-1' }, title)
  byId('view').replaceChildren(heading, ...content)
  document.title = `${heading.textContent} – ${site.brand}`
  heading.focus()
}
