import type { Delivery } from './answers.ts'
import { ask } from './ask.ts'
import { badge, beginView, button, data, element, filled, rows, say, texts, time } from './page.ts'
import { linkTo } from './person-marks.ts'
import { attempt, request } from './requests.ts'

interface Retried {
  readonly due: number
  readonly expired: number
  readonly sinks_off: readonly string[]
}

export async function showDeliveries(): Promise<void> {
  const show = beginView()
  const found = await attempt(() =>
    request<{ items: readonly Delivery[]; has_more: boolean }>('GET', '/admin/deliveries'),
  )
  if (found === null) return
  const list = rows(
    found.items.map((one) => deliveryRow(one, showDeliveries, one.user_id ? linkTo(one.user_id) : null)),
    texts.deliveries.none,
  )
  const more = found.has_more ? [element('p', { class: 'hint' }, texts.deliveries.more)] : []
  show(
    texts.deliveries.title,
    element('p', { class: 'hint' }, texts.deliveries.hint),
    element('div', { class: 'list' }, list),
    ...more,
  )
}

/** @param again shows the list anew */
export function deliveryRow(one: Delivery, again: () => Promise<void>, owner: HTMLElement | null): HTMLElement {
  const { deliveries, done } = texts
  const name = [one.type, ...(one.sink === null ? [] : [one.sink])].join(' → ')
  const details = [time(one.at), filled(deliveries.attempts, { count: String(one.attempts) })].join(' · ')
  const about = element(
    'div',
    {},
    data(name, 'b'),
    ' ',
    one.state === 'dead' ? badge(deliveries.dead, 'bad') : badge(deliveries.waiting),
    element('p', { class: 'hint' }, details),
    ...(one.reason === null ? [] : [data(one.reason, 'p')]),
  )
  const path = `/admin/deliveries/${one.id}`
  const ofSink = one.sink === null ? '' : `?${new URLSearchParams({ sink: one.sink })}`
  const retry = button(deliveries.retry, 'quiet', async () => {
    const retried = await attempt(() => request<Retried>('POST', `${path}/retry${ofSink}`))
    if (retried === null) return
    await again()
    if (retried.due > 0) say(done.retried)
    else say(retried.expired > 0 ? done.expired : done.sinkOff, 'bad')
  })
  const discard = button(deliveries.discard, 'quiet danger', async () => {
    const text = filled(texts.ask.discard, { type: name })
    if ((await ask({ text, button: deliveries.discard, isDangerous: true })) === null) return
    const isDone = await attempt(async () => {
      await request('DELETE', path + ofSink)
      return true
    })
    if (isDone === null) return
    await again()
    say(done.discarded)
  })
  const acts = element(
    'div',
    { class: 'acts' },
    ...(owner === null ? [] : [owner]),
    ...(one.state === 'dead' ? [retry, discard] : []),
  )
  return element('li', {}, about, acts)
}
