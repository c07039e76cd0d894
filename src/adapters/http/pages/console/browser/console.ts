import type { Me } from '../../browser/answers.ts'
import { showDeliveries } from './deliveries.ts'
import {
  base,
  beginView,
  byId,
  data,
  element,
  filled,
  needsSuperuser,
  sayWhatWasLeft,
  setOwnId,
  site,
  texts,
} from './page.ts'
import { showPeople } from './people.ts'
import { showAddress, showPerson } from './person.ts'
import { attempt, Problem, request, returnAddress, signInAddress } from './requests.ts'
import { showState } from './state.ts'

/** The page of somebody who may not go on. `ways` are pairs of an address and a text. */
function showGate(text: string, ways: readonly (readonly [string, string])[], ...hints: readonly string[]): void {
  byId('views').hidden = true
  beginView()(
    texts.gate.title,
    element('p', {}, data(text)),
    ...ways.map(([href, link]) => element('p', {}, element('a', { class: 'button', href }, link))),
    ...hints.map((hint) => element('p', { class: 'hint' }, hint)),
  )
}

/** For a developer. At a public address, or where there is a superuser, nobody is told. */
const hints = needsSuperuser ? [texts.gate.firstSuperuser] : []

function showGateFor(code: string): void {
  const { secondFactor, withFactor, addFactor, signIn, signInButton } = texts.gate
  const factors = `${base}/account/factors?${new URLSearchParams({ return_to: returnAddress() })}`
  if (code === 'SECOND_FACTOR_REQUIRED') {
    showGate(secondFactor, [
      [signInAddress(), withFactor],
      [factors, addFactor],
    ])
  } else showGate(signIn, [[signInAddress(), signInButton]], ...hints)
}

addEventListener('gate', (event) => showGateFor((event as CustomEvent<string>).detail)) // safe: `attempt` sends it

/** A fragment that somebody has changed may be no text. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

/** Shows what the fragment of the address names. */
async function showView(): Promise<void> {
  const [path = '', query = ''] = location.hash.slice(1).split('?')
  const [, view = '', subject = ''] = path.split('/')
  for (const link of document.querySelectorAll('#views a')) {
    const isCurrent = link.getAttribute('href') === `#/${['person', 'address', ''].includes(view) ? 'people' : view}`
    if (isCurrent) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
  byId('views').hidden = false
  sayWhatWasLeft()
  if (view === 'person') return await showPerson(decoded(subject))
  if (view === 'address') return await showAddress(decoded(subject))
  if (view === 'deliveries') return await showDeliveries()
  if (view === 'state') return await showState()
  showPeople(new URLSearchParams(query))
}

async function begin(): Promise<void> {
  const me = await request<Me>('GET', `${site.users}/me`)
  if (!me.is_superuser) {
    return showGate(
      filled(texts.gate.notSuperuser, { email: me.email }),
      [[signInAddress(), texts.gate.signInButton]],
      ...hints,
    )
  }
  setOwnId(me.id)
  const account = byId('own-account')
  account.replaceChildren(data(me.email))
  account.hidden = false
  addEventListener('hashchange', () => void attempt(showView))
  await showView()
}

await attempt(async () => {
  try {
    await begin()
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 401) return showGateFor(problem.code)
    throw problem
  }
})
