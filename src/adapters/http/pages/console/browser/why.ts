import type { Explanation } from './answers.ts'
import { badge, data, element, filled, rows, section, texts, time } from './page.ts'

/** The likely cause first, and what to do about it. */
export function whySection({ causes }: Explanation): HTMLElement {
  const made = section(texts.person.why, ...causes.map((cause) => data(sentenceOf(cause), 'p')))
  made.classList.add('why')
  return made
}

function sentenceOf({ code, text, detail, until, count }: Explanation['causes'][number]): string {
  const sentences: Readonly<Record<string, string>> = texts.causes
  return filled(sentences[code] ?? text, {
    detail: detail === null ? '' : ` (${detail})`,
    limit: detail ?? '',
    provider: detail ?? '?',
    until: until === null ? '' : filled(texts.person.ends, { time: time(until) }),
    count: count > 1 ? ` (${count}×)` : '',
  })
}

/** The refused logins and the limits that the explanation rests on. */
export function proofs({ refused_logins: refused, limits }: Explanation): readonly HTMLElement[] {
  const reasons: Readonly<Record<string, string>> = texts.reasons
  const methods: Readonly<Record<string, string>> = texts.methods
  const refusals = refused.map(({ at, reason, detail }) =>
    element(
      'li',
      {},
      element(
        'div',
        {},
        reasons[reason] ?? reason,
        ...(detail === null ? [] : [' ', data(`(${methods[detail] ?? detail})`)]),
      ),
      element('span', { class: 'hint' }, time(at)),
    ),
  )
  const names: Readonly<Record<string, string>> = texts.limits
  const used = limits.map((one) =>
    element(
      'li',
      {},
      element(
        'div',
        {},
        `${names[one.limit] ?? one.limit}${one.of === 'devices' ? texts.person.ofDevices : ''}: ${one.points}/${one.most} `,
        ...(one.is_reached ? [badge(texts.person.reached, 'bad')] : []),
      ),
      element('span', { class: 'hint' }, filled(texts.person.until, { time: time(one.until) })),
    ),
  )
  return [
    section(texts.person.refusals, rows(refusals, texts.person.noRefusals)),
    section(texts.person.limits, rows(used, texts.person.noLimits)),
  ]
}
