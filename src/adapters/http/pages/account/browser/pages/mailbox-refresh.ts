/** For `/try/mailbox`: adds new messages to the list. The message that a person reads stays, and so does the scroll. */

const pauseMilliseconds = 2000

async function look(): Promise<void> {
  if (document.hidden) return
  const answer = await fetch(location.href)
  if (!answer.ok) return
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const [list, freshList] = [document.querySelector('.mails'), fresh.querySelector('.mails')]
  if (freshList === null) return
  if (list === null) {
    document.querySelector('main')?.replaceWith(fresh.querySelector('main') ?? '')
    document.title = fresh.title
    return
  }
  const items = [...freshList.children]
  if (items.map(nameOf).join() === [...list.children].map(nameOf).join()) return
  const shown = list.querySelector('[aria-current]')?.parentElement
  const focused = list.contains(document.activeElement) ? document.activeElement?.parentElement : null
  const { scrollTop, scrollHeight } = list
  for (const item of items) {
    const link = item.querySelector('a')
    if (shown && nameOf(shown) === nameOf(item)) link?.setAttribute('aria-current', 'true')
    else link?.removeAttribute('aria-current')
  }
  list.replaceChildren(...items)
  if (scrollTop > 0) list.scrollTop = scrollTop + list.scrollHeight - scrollHeight
  const again = items.find((item) => focused && nameOf(item) === nameOf(focused))
  again?.querySelector('a')?.focus({ preventScroll: true })
}

/** A restart counts from 1 again, so the number does not identify a message. */
function nameOf(item: Element): string {
  return `${item.querySelector('a')?.getAttribute('href')} ${item.textContent}`
}

for (;;) {
  await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds))
  await look().catch(() => undefined) // the service may be restarting
}
