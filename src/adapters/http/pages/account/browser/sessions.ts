import { asUser, onClick } from './form.ts'
import { byId, data, element, filled, say, texts } from './page.ts'
import { request, type StoredSession } from './requests.ts'

const path = `${data.routes.users}/me/sessions`
const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' })

/** Shows where the user is signed in. */
export async function showSessions(): Promise<void> {
  const sessions = await request<readonly StoredSession[]>('GET', path)
  byId('signed-in').hidden = sessions.length === 0 // a cookie with a JWT has no stored session
  byId('sessions').replaceChildren(...sessions.map(rowOf))

  function rowOf({ id, browser, system, network, is_current: isCurrent, ...times }: StoredSession): HTMLElement {
    const signedIn = format.format(new Date(times.created_at))
    const time = format.format(new Date(times.last_used_at))
    const name = [browser, system].filter((part) => part !== null).join(', ') || texts.unknownBrowser
    const parts = [network, filled(texts.signedInAt, { time: signedIn }), filled(texts.lastUsed, { time })]
    const details = element('p', { class: 'hint' }, parts.filter((part) => part !== null).join(', '))
    const row = element('li', {}, element('div', {}, element('b', {}, name), details))
    if (isCurrent) {
      row.append(element('span', { class: 'badge good' }, texts.thisBrowser))
      return row
    }
    const label = filled(texts.endSessionLabel, { name, time })
    const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, texts.endSession)
    onClick(button, () =>
      asUser(async () => {
        await request('DELETE', `${path}/${id}`)
        await showSessions()
        say(filled(texts.sessionEnded, { name }))
        byId('title').focus()
      }),
    )
    row.append(button)
    return row
  }
}
