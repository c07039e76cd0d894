import { byId, filled, open, returnTo, say, texts } from './page.ts'
import { codeOf, Problem, requestVerification } from './requests.ts'

/** Passes the fields of the form to `act`. Faults appear beside their fields, and the first one gets the focus. */
export function onSubmit(act: (fields: Readonly<Record<string, string>>) => Promise<void>): void {
  const form = byId<HTMLFormElement>('form')
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (form.getAttribute('aria-busy') === 'true') return
    const fields = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    form.setAttribute('aria-busy', 'true')
    showFaults(form, {}, '')
    say('')
    act(fields)
      .catch((problem: unknown) => {
        if (!(problem instanceof Problem)) throw problem
        showFaults(form, problem.fields, problem.message)
      })
      .finally(() => form.removeAttribute('aria-busy'))
  })
}

function showFaults(form: HTMLFormElement, faults: Readonly<Record<string, string>>, message: string): void {
  const inputs = [...form.querySelectorAll<HTMLInputElement>('.field input')]
  for (const input of inputs) {
    const fault = faults[input.name] ?? ''
    byId(`${input.id}-fault`).textContent = fault
    if (fault === '') input.removeAttribute('aria-invalid')
    else input.setAttribute('aria-invalid', 'true')
  }
  byId('form-fault').textContent = message
  const first = inputs.find((input) => input.hasAttribute('aria-invalid')) ?? (message === '' ? undefined : inputs[0])
  first?.focus()
}

/** Calls `act` when the button is clicked, and shows its refusal. The second click of a double click does nothing. */
export function onClick(button: HTMLElement, act: () => Promise<void>): void {
  button.addEventListener('click', () => {
    if (button.getAttribute('aria-busy') === 'true') return
    button.setAttribute('aria-busy', 'true')
    void attempt(act).finally(() => button.removeAttribute('aria-busy'))
  })
}

/** Sends the link that confirms the address when the button is clicked. */
export function sendLinkOnClick(button: HTMLElement, email: string): void {
  onClick(button, async () => {
    await requestVerification(email)
    say(filled(texts.linkSent, { email }))
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
export function finish(text: string, ...ways: HTMLElement[]): void {
  byId('step').replaceChildren(...ways)
  say(text)
  byId('title').focus()
}
