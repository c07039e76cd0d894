import type { StoredSession } from '../../browser/answers.ts'
import { asUser, onClick } from './form.ts'
import { byId, data, element, filled, say, texts } from './page.ts'
import { request } from './requests.ts'
import { ago, dateOf } from './times.ts'

const path = `${data.routes.users}/me/sessions`

/** Shows where the user is signed in. */
export async function showSessions(): Promise<void> {
  const sessions = await request<readonly StoredSession[]>('GET', path)
  byId('signed-in').hidden = sessions.length === 0 // a cookie with a JWT has no stored session
  byId('sessions').replaceChildren(...sessions.map(rowOf))
}

function rowOf({ id, browser, system, network, is_current: isCurrent, ...rest }: StoredSession): HTMLElement {
  const name = [browser, system].filter((part) => part !== null).join(', ') || texts.unknownBrowser
  const title = element('div', {}, element('b', {}, name))
  if (isCurrent) title.append(' ', element('span', { class: 'badge good' }, texts.thisBrowser))
  const last = isCurrent ? null : ago(rest.last_used_at)
  const used = last === null ? texts.activeNow : filled(texts.lastUsed, { time: last })
  const first = ago(rest.created_at)
  const since = first === null || first === last ? null : filled(texts.signedInAt, { time: first })
  const parts = [network, used, since, proofOf(rest)]
  const exact = [
    filled(texts.lastUsed, { time: dateOf(rest.last_used_at) }),
    filled(texts.signedInAt, { time: dateOf(rest.created_at) }),
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

/** How the login was proved, in words; `null` if unknown. */
function proofOf({ methods, level }: Pick<StoredSession, 'methods' | 'level'>): string | null {
  if (level === 2) return texts.proofs.two
  const proofs: Readonly<Record<string, string>> = texts.proofs
  return methods.map((method) => proofs[method]).find((text) => text !== undefined) ?? null
}
