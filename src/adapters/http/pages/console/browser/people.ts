import type { Found, FoundPage } from '../../browser/answers.ts'
import { addPerson } from './add.ts'
import {
  beginView,
  button,
  data,
  element,
  field,
  filled,
  searchedFields,
  site,
  takeBackFault,
  texts,
  time,
} from './page.ts'
import { badges } from './person-marks.ts'
import { attempt, request } from './requests.ts'

const flags = ['is_active', 'is_verified', 'is_superuser', 'factor'] as const
let last = '#/people'

/** The address of the list as it was shown last. */
export const lastSearch = (): string => last

/** While a person types, one search runs at a time: the latest. */
let running = new AbortController()

/** The list of people, with a search that answers as one types. */
export function showPeople(parameters: URLSearchParams): void {
  if (!isShown()) history.replaceState(null, '', '#/people') // the fragment names no view
  const results = element('div', { class: 'list', 'aria-live': 'polite' })
  const [searchRow, search] = field(
    texts.people.search + namesOfSearch(),
    { type: 'search', name: 'q', maxlength: '254' },
    'wide',
  )
  search.value = parameters.get('q') ?? ''
  const days = Object.entries({
    created_after: texts.people.createdAfter,
    created_before: texts.people.createdBefore,
    last_login_before: texts.people.lastLoginBefore,
  }).map(([name, label]) => field(label, { name, type: 'date' }))
  const selects = flags.map((name) => choice(name))
  const filters = element(
    'details',
    {},
    element('summary', {}, texts.people.filters),
    element('div', { class: 'filters' }, ...selects.map(([row]) => row), ...days.map(([row]) => row)),
  )
  for (const [, input] of [...selects, ...days]) {
    input.value = parameters.get(input.name) ?? ''
    if (input.value !== '') filters.setAttribute('open', '')
  }

  const wanted = (): URLSearchParams => {
    const query = new URLSearchParams()
    if (search.value.trim() !== '') query.set('q', search.value.trim())
    for (const [, { name, value }] of selects) if (value !== '') query.set(name, value)
    for (const [, { name, value }] of days) if (value !== '') query.set(name, value)
    return query
  }
  const find = async (): Promise<void> => {
    if (!isShown() || !results.isConnected) return // the person has gone on meanwhile, or is back
    running.abort()
    const own = new AbortController()
    running = own
    const query = wanted()
    last = `#/people${query.size === 0 ? '' : `?${query}`}`
    history.replaceState(null, '', last)
    const page = await attempt(() => pageOf(query, own.signal))
    if (page === null || own.signal.aborted) return
    takeBackFault()
    results.replaceChildren(...content(page, query, search.value.trim()))
    shownFor = String(query)
  }
  /** The search whose people are shown. */
  let shownFor = ''
  const openOnlyOne = (): void => {
    const found = results.querySelectorAll<HTMLElement>('li a')
    const hasMore = results.querySelector('button:not([hidden])') !== null
    if (found.length === 1 && !hasMore && shownFor === String(wanted())) found[0]?.click()
  }
  let timer = 0
  search.addEventListener('input', () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => void find(), 150)
  })
  for (const [, input] of [...selects, ...days]) input.addEventListener('change', () => void find())
  search.addEventListener('keydown', ({ key }) => {
    if (key !== 'Enter') return
    if (shownFor === String(wanted())) return openOnlyOne()
    clearTimeout(timer)
    void find().then(openOnlyOne)
  })

  const add = button(texts.people.add, 'second', addPerson)
  beginView()(texts.people.title, element('div', { class: 'bar' }, searchRow, add), filters, results)
  search.focus()
  void find()
}

/** The titles of the fields that a search compares, too. */
function namesOfSearch(): string {
  return searchedFields.length === 0 ? '' : filled(texts.people.orField, { fields: searchedFields.join(', ') })
}

/** Whether the address is that of the list. */
const isShown = (): boolean => /^(#\/?(people.*)?)?$/.test(location.hash)

async function pageOf(query: URLSearchParams, signal: AbortSignal, after?: string): Promise<FoundPage | null> {
  const filters = [...query].map(([name, value]) => [name, isFlag(name) ? value === 'true' : value] as const)
  const json = { ...Object.fromEntries(filters), limit: 50, ...(after && { after }) }
  // In the body, because proxies write addresses into their logs.
  return await request<FoundPage>('POST', `${site.users}/search`, { json, signal }).catch((thrown: unknown) => {
    if (signal.aborted) return null
    throw thrown
  })
}

const isFlag = (name: string): boolean => flags.some((flag) => flag === name)

function content(page: FoundPage, query: URLSearchParams, typed: string): readonly HTMLElement[] {
  const list = element('ul', { class: 'rows' }, ...page.items.map(rowOf))
  if (page.items.length === 0 && page.next === null) return [nobody(query, typed)]
  let { next } = page
  const more = button(texts.people.more, 'quiet', async () => {
    const { signal } = running
    const further = await attempt(() => pageOf(query, signal, next ?? ''))
    if (further === null) return
    list.append(...further.items.map(rowOf))
    next = further.next
    more.hidden = next === null
  })
  more.hidden = next === null
  return [list, more]
}

function nobody(query: URLSearchParams, typed: string): HTMLElement {
  if (query.size === 0) return element('p', {}, texts.people.noneYet)
  if (!typed.includes('@')) return element('p', {}, texts.people.none)
  return element('p', {}, element('a', { href: `#/address/${encodeURIComponent(typed)}` }, texts.people.unknown))
}

function rowOf(one: Found): HTMLElement {
  const last = one.last_login ? `${texts.person.lastLogin}: ${time(one.last_login)}` : ''
  const link = element(
    'a',
    { href: `#/person/${encodeURIComponent(one.id)}` },
    data(one.email),
    element('span', { class: 'hint' }, last),
    badges(one),
  )
  return element('li', {}, link)
}

function choice(name: (typeof flags)[number]): readonly [HTMLElement, HTMLSelectElement] {
  const { label, true: yes, false: no } = texts.people.filter[name]
  const option = (value: string, text: string): HTMLElement => element('option', { value }, text)
  const select = element(
    'select',
    { id: `field-${name}`, name },
    option('', texts.people.any),
    option('true', yes),
    option('false', no),
  ) as HTMLSelectElement // safe: it is a select
  return [element('div', { class: 'field' }, element('label', { for: `field-${name}` }, label), select), select]
}
