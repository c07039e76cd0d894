import type { Deliveries, Delivery, Retried } from '../../browser/answers.ts'
import { ask } from './ask.ts'
import { badge, beginView, button, data, element, filled, rows, say, texts, time } from './page.ts'
import { linkTo } from './person-marks.ts'
import { attempt, Problem, request } from './requests.ts'

export async function showDeliveries(): Promise<void> {
  const show = beginView()
  const found = await attempt(() => request<Deliveries>('GET', '/admin/deliveries'))
  if (found === null) return show(texts.deliveries.title)
  const list = rows(
    found.items.map((one) => deliveryRow(one, showDeliveries, one.user_id ? linkTo(one.user_id, one.email) : null)),
    texts.deliveries.none,
  )
  const dead = found.items.filter(({ state }) => state === 'dead')
  const retryAll = button(texts.deliveries.retryAll, 'quiet', async () => {
    let [due, expired, off] = [0, 0, 0]
    const isDone = await attempt(async () => {
      for (const one of dead) {
        const retried = await retry(one).catch(nothingIfGone)
        due += retried.due
        expired += retried.expired
        off += retried.sinks_off.length
      }
      return true
    })
    if (!list.isConnected) return
    await showDeliveries()
    if (isDone === null) return
    const counts = { due: String(due), expired: String(expired), off: String(off) }
    say(filled(texts.done.retriedAll, counts), due === dead.length ? 'good' : 'bad')
  })
  const more = found.has_more ? [element('p', { class: 'hint' }, texts.deliveries.more)] : []
  show(
    texts.deliveries.title,
    element('p', { class: 'hint' }, texts.deliveries.hint),
    element(
      'div',
      { class: 'acts' },
      button(texts.deliveries.refresh, 'quiet', showDeliveries),
      ...(dead.length > 1 ? [retryAll] : []),
    ),
    element('div', { class: 'list' }, list),
    ...more,
  )
}

const pathOf = ({ id }: Delivery): string => `/admin/deliveries/${id}`

const ofSink = ({ sink }: Delivery): string => (sink === null ? '' : `?${new URLSearchParams({ sink })}`)

const retry = (one: Delivery): Promise<Retried> => request<Retried>('POST', `${pathOf(one)}/retry${ofSink(one)}`)

/** Somebody else may have tried or discarded it meanwhile. */
function nothingIfGone(thrown: unknown): Retried {
  if (thrown instanceof Problem && thrown.status === 404) return { due: 0, expired: 0, sinks_off: [] }
  throw thrown
}

/**
 * @param again shows the list anew
 * @param owner a link to the person; `null` on the page of the person
 */
export function deliveryRow(one: Delivery, again: () => Promise<void>, owner: HTMLElement | null): HTMLElement {
  const { deliveries, done } = texts
  const events: Readonly<Record<string, string>> = texts.events
  const name = [events[one.type] ?? one.type, ...(one.sink === null ? [] : [one.sink])].join(' → ')
  const details = [one.type, time(one.at), filled(deliveries.attempts, { count: String(one.attempts) })].join(' · ')
  const about = element(
    'div',
    {},
    data(name, 'b'),
    ' ',
    one.state === 'dead' ? badge(deliveries.dead, 'bad') : badge(deliveries.waiting),
    element('p', { class: 'hint' }, details, ...(owner === null ? [] : [' · ', owner])),
    ...(one.reason === null ? [] : [data(one.reason, 'p')]),
  )
  const retryOne = button(deliveries.retry, 'quiet', async () => {
    const retried = await attempt(() => retry(one))
    if (retried === null || !about.isConnected) return
    await again()
    if (retried.due > 0) say(done.retried)
    else say(retried.expired > 0 ? done.expired : done.sinkOff, 'bad')
  })
  const discard = button(deliveries.discard, 'quiet danger', async () => {
    const text = filled(texts.ask.discard, { type: name, email: one.email ?? deliveries.unknown })
    const question = { text, button: deliveries.discard.replace(' …', ''), isDangerous: true }
    if ((await ask(question, () => request('DELETE', pathOf(one) + ofSink(one)))) === null) return
    await again()
    say(done.discarded)
  })
  const acts = element('div', { class: 'acts' }, ...(one.state === 'dead' ? [retryOne, discard] : []))
  return element('li', {}, about, acts)
}
