import { asUser, onClick } from './form.ts'
import { byId, data, element, filled, say, texts } from './page.ts'
import { request, type StoredSession } from './requests.ts'
import { ago, dateOf } from './times.ts'

const path = `${data.routes.users}/me/sessions`

/** Shows where the user is signed in. */
export async function showSessions(): Promise<void> {
  const sessions = await request<readonly StoredSession[]>('GET', path)
  byId('signed-in').hidden = sessions.length === 0 // a cookie with a JWT has no stored session
  byId('sessions').replaceChildren(...sessions.map(rowOf))
}

function rowOf({ id, browser, system, network, is_current: isCurrent, ...times }: StoredSession): HTMLElement {
  const name = [browser, system].filter((part) => part !== null).join(', ') || texts.unknownBrowser
  const title = element('div', {}, element('b', {}, name))
  if (isCurrent) title.append(' ', element('span', { class: 'badge good' }, texts.thisBrowser))
  const last = isCurrent ? null : ago(times.last_used_at)
  const used = last === null ? texts.activeNow : filled(texts.lastUsed, { time: last })
  const first = ago(times.created_at)
  const parts = [network, used, first === null || first === last ? null : filled(texts.signedInAt, { time: first })]
  const exact = [
    filled(texts.lastUsed, { time: dateOf(times.last_used_at) }),
    filled(texts.signedInAt, { time: dateOf(times.created_at) }),
  ]
  const details = parts.filter((part) => part !== null).join(' · ')
  title.append(element('p', { class: 'hint', title: exact.join(', ') }, details))
  if (isCurrent) return element('li', {}, title) // the button that signs out ends it
  const label = filled(texts.endSessionLabel, { name, used })
  const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, texts.endSession)
  onClick(button, () =>
    asUser(async () => {
      await request('DELETE', `${path}/${id}`)
      await showSessions()
      say(filled(texts.sessionEnded, { name }))
      byId('title').focus()
    }),
  )
  return element('li', {}, title, button)
}
