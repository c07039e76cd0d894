import type { Health } from '../../browser/answers.ts'
import { badge, beginView, element, facts, filled, section, texts } from './page.ts'
import { attempt, request } from './requests.ts'

export async function showState(): Promise<void> {
  const show = beginView()
  const health = await attempt(() => request<Health>('GET', '/admin/health'))
  if (health === null) return show(texts.state.title)
  const { state } = texts
  const { tenants, undelivered } = health
  const strings = (all: object): Record<string, string> =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
  const stores = health.stores.map(({ store, roles, is_down }) =>
    element(
      'li',
      {},
      element('div', {}, element('b', {}, store), element('p', { class: 'hint' }, roles.join(', '))),
      is_down ? badge(state.down, 'bad') : badge(state.up, 'good'),
    ),
  )
  const counts = element('a', { href: '#/deliveries' }, filled(state.undeliveredCounts, strings(undelivered)))
  show(
    state.title,
    element(
      'div',
      { class: 'cards' },
      section(state.stores, element('ul', { class: 'rows' }, ...stores)),
      section(
        state.tenant,
        facts({
          [texts.person.id]: health.tenant,
          [state.undelivered]: counts,
          [state.tenants]: tenants && filled(state.tenantCounts, strings(tenants)),
        }),
      ),
    ),
  )
}
