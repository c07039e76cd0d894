import type { Delivery, Details, Explanation, Found, StoredSession } from '../../browser/answers.ts'
import { shown } from '../../browser/dom.ts'
import { actsOn } from './acts.ts'
import { ask } from './ask.ts'
import { deliveryRow } from './deliveries.ts'
import {
  badge,
  beginView,
  button,
  data,
  element,
  facts,
  fieldTitles,
  filled,
  listSection,
  say,
  section,
  site,
  texts,
  time,
} from './page.ts'
import { lastSearch } from './people.ts'
import { badges } from './person-marks.ts'
import { attempt, Problem, person, request } from './requests.ts'
import { cardsOf, proofs, whySection } from './why.ts'

/** Everything about a person, and the acts. */
export async function showPerson(id: string): Promise<void> {
  const show = beginView()
  const details = await attempt(() => load(id))
  if (details === null) return show(texts.person.about, backLink())
  if (details === 'gone') return show(texts.person.gone, backLink())
  const { user } = details
  const again = (): Promise<void> => showPerson(id)
  const onTheWay = details.deliveries.filter(isLate).map((one) => deliveryRow(one, again, null))
  show(
    data(user.email),
    element('p', { class: 'line' }, backLink(), badges(user)),
    element(
      'div',
      { class: 'cards' },
      whySection(details),
      section(texts.person.acts, ...actsOn(user, details, again)),
      aboutSection(user, details),
      ...cardsOf({
        [texts.person.factors]: factorSection(details),
        [texts.person.sessions]: sessionSection(user, details, again),
        [texts.person.links]: linkSection(details),
        [texts.person.mail]: listSection(texts.person.mail, onTheWay),
        [texts.person.tokens]: tokenSection(details),
        ...proofs(details),
      }),
    ),
  )
}

/** A delivery that waits less than a minute for its first attempt is no news: each act and look-up has events. */
const isLate = ({ state, reason, at }: Delivery): boolean =>
  state === 'dead' || reason !== null || Date.now() - Date.parse(at) > 60_000

async function load(id: string): Promise<Details | 'gone'> {
  try {
    return await request<Details>('GET', `${person(id)}/details`)
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) return 'gone'
    throw problem
  }
}

/** Why somebody with this address cannot log in, who may have no account. */
export async function showAddress(email: string): Promise<void> {
  const show = beginView()
  const ask = () => request<Explanation>('POST', `${site.users}/explain`, { json: { email } })
  const explanation = await attempt(ask)
  if (explanation === null) return show(data(email), backLink())
  const cards = element('div', { class: 'cards' }, whySection(explanation), ...cardsOf(proofs(explanation)))
  show(data(email), element('p', {}, backLink()), cards)
}

const backLink = (): HTMLElement => element('a', { href: lastSearch() }, `← ${texts.person.back}`)

function aboutSection(user: Found, details: Details): HTMLElement {
  const { person: words } = texts
  const known = ['id', 'email', 'is_active', 'is_superuser', 'is_verified', 'created_at', 'last_login']
  const own = Object.entries(user).filter(([name]) => !known.includes(name))
  return section(
    words.about,
    facts({
      [words.id]: data(user.id),
      [words.password]: details.has_password ? texts.yes : texts.no,
      [words.access]: user.is_active ? texts.flags.active : accessOf(details),
      [words.created]: time(details.created_at),
      [words.lastLogin]: details.last_login === null ? words.never : time(details.last_login),
      ...Object.fromEntries(own.map(([name, value]) => [fieldTitles[name] ?? name, data(shown(value, texts))])),
    }),
  )
}

function accessOf({ deactivation }: Details): HTMLElement {
  const { reason, until } = deactivation ?? { reason: null, until: null }
  const parts = [
    texts.flags.inactive,
    ...(until === null ? [] : [filled(texts.person.until, { time: time(until) })]),
    ...(reason === null ? [] : [filled(texts.person.reason, { reason })]),
  ]
  return data(parts.join(' · '))
}

function factorSection({ factors }: Details): HTMLElement | null {
  const { totp, passkeys, recovery_codes: codes, reset_at: resetAt } = factors
  const row = (name: string, at: string, own = ''): HTMLElement =>
    element(
      'li',
      {},
      element('div', {}, name, ' ', data(own)),
      element('span', { class: 'hint' }, filled(texts.person.since, { time: time(at) })),
    )
  const all = [
    ...(totp === null ? [] : [row(texts.person.totp, totp.added_at)]),
    ...passkeys.map(({ name, added_at }) => row(texts.person.passkey, added_at, name)),
  ]
  const left = filled(texts.person.codes, { count: String(codes) })
  return listSection(
    texts.person.factors,
    all,
    element('p', { class: 'hint' }, left),
    ...(resetAt === null ? [] : [element('p', {}, filled(texts.person.resetAt, { time: time(resetAt) }))]),
  )
}

function sessionSection(user: Found, { sessions }: Details, again: () => Promise<void>): HTMLElement | null {
  const row = (one: StoredSession): HTMLElement => {
    const name = [one.browser, one.system, one.network].filter((part) => part !== null).join(', ')
    const times = [
      filled(texts.person.lastUsed, { time: time(one.last_used_at) }),
      filled(texts.person.signedIn, { time: time(one.created_at) }),
    ]
    const end = button(texts.person.endSession, 'quiet', async () => {
      const text = filled(texts.ask.endSession, { email: user.email })
      const path = `${person(user.id)}/sessions/${encodeURIComponent(one.id)}`
      if ((await ask({ text, button: texts.person.endSession }, () => request('DELETE', path))) === null) return
      await again()
      say(texts.done.endSession)
    })
    const about = element(
      'div',
      {},
      data(name || texts.person.unknownBrowser),
      ' ',
      ...(one.level === 2 ? [badge(texts.person.level, 'good')] : []),
      element('p', { class: 'hint' }, times.join(' · ')),
    )
    return element('li', {}, about, end)
  }
  return listSection(texts.person.sessions, sessions.map(row))
}

function linkSection({ oauth_accounts: accounts }: Details): HTMLElement | null {
  const all = accounts.map(({ oauth_name, account_email }) =>
    element('li', {}, element('div', {}, oauth_name), data(account_email)),
  )
  return listSection(texts.person.links, all)
}

function tokenSection({ tokens }: Details): HTMLElement | null {
  const purposes: Readonly<Record<string, string>> = texts.purposes
  const all = tokens.map(({ purpose, expires_at }) =>
    element(
      'li',
      {},
      element('div', {}, purposes[purpose] ?? purpose),
      element('span', { class: 'hint' }, filled(texts.person.until, { time: time(expires_at) })),
    ),
  )
  return listSection(texts.person.tokens, all)
}
