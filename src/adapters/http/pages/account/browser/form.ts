import { byId, data, filled, open, retitle, returnTo, say, texts, wayOn } from './page.ts'
import { codeOf, leaveFor, linkPause, Problem, request, requestVerification } from './requests.ts'

/** Passes the fields of the form to `act`. Faults appear beside their fields, and the first one gets the focus. */
export function onSubmit(act: (fields: Readonly<Record<string, string>>) => Promise<void>): void {
  const form = byId<HTMLFormElement>('form')
  const hidePasswords = showOnClick(form)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (form.getAttribute('aria-busy') === 'true') return
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    form.setAttribute('aria-busy', 'true')
    hidePasswords()
    showFaults(form, {}, '')
    say('')
    act(fields)
      .catch((problem: unknown) => {
        if (!(problem instanceof Problem)) throw problem
        showFaults(form, { ...problem.fields, ...missingIn(form) }, problem.message)
      })
      .finally(() => form.removeAttribute('aria-busy'))
  })
  for (const button of form.querySelectorAll('button')) button.disabled = false
}

/** Lets the buttons of the form show its passwords. Returns the way to hide them, for browsers that store what is shown. */
function showOnClick(form: HTMLFormElement): () => void {
  const all = [...form.querySelectorAll<HTMLElement>('.reveal')].map((button) => {
    const input = byId<HTMLInputElement>(button.getAttribute('aria-controls') ?? '')
    const show = (isShown: boolean): void => {
      input.type = isShown ? 'text' : 'password'
      button.textContent = isShown ? texts.hide : texts.show
    }
    button.addEventListener('click', () => show(input.type === 'password'))
    return show
  })
  return () => {
    for (const show of all) show(false)
  }
}

const inputsOf = (form: HTMLFormElement) => [
  ...form.querySelectorAll<HTMLInputElement>('.field :is(input, select, textarea)'),
]
const nameOf = ({ dataset, name }: HTMLInputElement): string => dataset.field ?? name

/** The service checks a password only once the other fields are right, and calls an empty address a wrong one. */
function missingIn(form: HTMLFormElement): Readonly<Record<string, string>> {
  const missing = inputsOf(form).filter(({ required, value }) => required && value === '')
  return Object.fromEntries(missing.map((input) => [nameOf(input), texts.fieldMissing]))
}

function showFaults(form: HTMLFormElement, faults: Readonly<Record<string, string>>, message: string): void {
  const inputs = inputsOf(form)
  for (const input of inputs) showFault(input, faults[nameOf(input)] ?? '')
  byId('form-fault').textContent = message
  const first = inputs.find((input) => input.hasAttribute('aria-invalid')) ?? (message === '' ? undefined : inputs[0])
  first?.focus()
}

/** Shows the fault beside its field; an empty text removes it. */
export function showFault(input: HTMLElement, fault: string): void {
  byId(`${input.id}-fault`).textContent = fault
  if (fault === '') input.removeAttribute('aria-invalid')
  else input.setAttribute('aria-invalid', 'true')
}

/** Calls `act` when the button is clicked, and shows its refusal. The second click of a double click does nothing. */
export function onClick(button: HTMLElement, act: () => Promise<void>): void {
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-busy') === 'true') return
    button.setAttribute('aria-busy', 'true')
    void attempt(act).finally(() => button.removeAttribute('aria-busy'))
  })
  button.removeAttribute('disabled')
}

/** Calls `act` at the second click. The first one puts the question on the button, until the focus leaves it. */
export function onSecondClick(button: HTMLElement, { question, act }: { question: string; act: () => void }): void {
  const text = button.textContent
  const label = button.getAttribute('aria-label')
  let isAsked = false
  const ask = (asks: boolean): void => {
    isAsked = asks
    button.textContent = asks ? question : text
    if (label !== null)
      button.setAttribute(
        'aria-label',
        label.replace(text, () => button.textContent),
      )
  }
  button.addEventListener('blur', () => ask(false))
  button.addEventListener('click', ({ detail }) => {
    if (!isAsked) return ask(true)
    if (detail > 1) return // the second click of a double click
    ask(false)
    act()
  })
}

/** The button ends the session of this browser. */
export function signOutOnClick(button: HTMLElement): void {
  onClick(button, async () => {
    await request('POST', `${data.routes.login}/logout`).catch((problem: unknown) => {
      if (codeOf(problem) !== 'Unauthorized') throw problem
    })
    open('sign-in', 'signedOut')
  })
}

/** The button of each provider leads to its sign-in, which creates the account of a new person. */
export function offerProviders(): void {
  for (const { name, login } of data.providers) {
    if (login !== null) onClick(byId(`with-${name}`), () => leaveFor(login, wayOn))
  }
}

/** Sends the link that verifies the address when the button is clicked. While one is under way, `hint` is in its place. */
export function sendLinkOnClick(button: HTMLElement, email: string, hint?: HTMLElement): void {
  const show = (): void => {
    const pause = linkPause(email)
    button.hidden = pause > 0
    if (hint !== undefined) hint.hidden = pause === 0
    if (pause > 0) setTimeout(show, pause)
  }
  show()
  onClick(button, async () => {
    await requestVerification(email)
    show()
    say(filled(texts.linkSent, { email }))
    byId('title').focus()
  })
}

/** Shows the refusal of `act` as the message of the page. */
export async function attempt(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem
    say(problem.message, 'bad')
  }
}

/** Runs an action that needs a session or a fresh login. Without it, the sign-in page opens, and leads to `back`. */
export async function asUser(act: () => Promise<void>, back: string | null = returnTo): Promise<void> {
  try {
    await act()
  } catch (problem) {
    const code = codeOf(problem)
    if (code === 'FRESH_LOGIN_REQUIRED') open('sign-in', 'again', back)
    else if (code === 'Unauthorized') open('sign-in', undefined, back)
    else throw problem
  }
}

/** Replaces the form with a message and a way on. */
export function finish(title: string, text: string, ...ways: HTMLElement[]): void {
  byId('step').replaceChildren(...ways)
  const back = byId('back-to-app')
  back.hidden ||= ways.some((way) => way.getAttribute('href') === back.getAttribute('href'))
  retitle(title)
  say(text)
  byId('title').focus()
}
