import type { Explanation } from '../../browser/answers.ts'
import { badge, data, element, filled, listSection, section, texts, time } from './page.ts'

/** Yes or no, then the likely causes, and what to do about them. */
export function whySection({ can_log_in: canLogIn, causes }: Explanation): HTMLElement {
  const { why, can, cannot, happened } = texts.person
  const told = causes.filter(({ code }) => code !== 'nothing_found')
  const verdict = element('p', { class: `verdict ${canLogIn ? 'good' : 'bad'}` }, canLogIn ? can : cannot)
  const before = canLogIn && told.length > 0 ? [element('p', { class: 'hint' }, happened)] : []
  const made = section(why, verdict, ...before, ...told.map((cause) => data(sentenceOf(cause), 'p')))
  made.classList.add('why')
  return made
}

function sentenceOf({ code, text, detail, until, count }: Explanation['causes'][number]): string {
  const sentences: Readonly<Record<string, string>> = texts.causes
  const limits: Readonly<Record<string, string>> = texts.limits
  return filled(sentences[code] ?? text, {
    detail: detail === null ? '' : ` (${detail})`,
    limit: limits[detail ?? ''] ?? detail ?? '',
    provider: detail ?? '?',
    until: until === null ? '' : filled(texts.person.ends, { time: time(until) }),
    count: count > 1 ? ` (${count}×)` : '',
  })
}

/** Sections by their titles; `null` for one with nothing in it. */
export type Sections = Readonly<Record<string, HTMLElement | null>>

/** The cards of the sections, and one line with the titles of those that are empty. */
export function cardsOf(sections: Sections): readonly HTMLElement[] {
  const cards = Object.values(sections).filter((one) => one !== null)
  const empty = Object.keys(sections).filter((title) => sections[title] === null)
  if (empty.length === 0) return cards
  return [
    ...cards,
    element('p', { class: 'hint empty' }, filled(texts.person.nothingIn, { titles: empty.join(' · ') })),
  ]
}

type Refused = Explanation['refused_logins'][number]

/** One for those that follow each other with the same reason, at the time of the latest. */
function grouped(all: readonly Refused[]): readonly (Refused & { readonly count: number })[] {
  const groups: (Refused & { count: number })[] = []
  for (const one of all) {
    const last = groups.at(-1)
    if (last?.reason === one.reason && last.detail === one.detail) last.count++
    else groups.push({ ...one, count: 1 })
  }
  return groups
}

/** The refused logins and the limits that the explanation rests on. */
export function proofs({ refused_logins: refused, limits }: Explanation): Sections {
  const reasons: Readonly<Record<string, string>> = texts.reasons
  const methods: Readonly<Record<string, string>> = texts.methods
  const names: Readonly<Record<string, string>> = texts.limits
  const refusals = grouped(refused).map(({ at, reason, detail, count }) =>
    element(
      'li',
      {},
      element(
        'div',
        {},
        reasons[reason] ?? reason,
        ...(detail === null ? [] : [' ', data(`(${methods[detail] ?? names[detail] ?? detail})`)]),
        ...(count > 1 ? [` ${count}×`] : []),
      ),
      element('span', { class: 'hint' }, time(at)),
    ),
  )
  const purposes: Readonly<Record<string, string>> = texts.purposes
  const nameOf = ({ limit, purpose }: Explanation['limits'][number]): string =>
    `${names[limit] ?? limit}${purpose === null ? '' : ` (${purposes[purpose] ?? purpose})`}`
  const used = limits.map((one) =>
    element(
      'li',
      {},
      element(
        'div',
        {},
        `${nameOf(one)}${one.of === 'devices' ? texts.person.ofDevices : ''}: ${Math.min(one.points, one.most)}/${one.most} `,
        ...(one.is_reached ? [badge(texts.person.reached, 'bad')] : []),
      ),
      element('span', { class: 'hint' }, filled(texts.person.until, { time: time(one.until) })),
    ),
  )
  return {
    [texts.person.refusals]: listSection(texts.person.refusals, refusals),
    [texts.person.limits]: listSection(texts.person.limits, used),
  }
}
