import { box, button, data, element, field, say, texts } from './page.ts'
import { attempt } from './requests.ts'

interface Field {
  readonly label: string
  readonly type?: string
  readonly value?: string
  readonly isRequired?: boolean
}

/** By the names of the fields. A box that is not ticked has the empty text. */
type Values = Readonly<Record<string, string>>

interface Question {
  /** It names the person. */
  readonly text: string
  /** The text of the button that goes on. */
  readonly button: string
  readonly isDangerous?: boolean
  /** The fields by name. A box is ticked at first. */
  readonly fields?: Readonly<Record<string, Field>>
  /** The text that has to be typed. */
  readonly typed?: string
}

/**
 * Asks in a dialog, and does `act` with the values of the fields. A refused dialog stays open with what was typed.
 * Resolves to the result of `act`, or to `null` if the person cancels.
 */
export function ask<R>(
  question: Question,
  act: (values: Values) => Promise<R>,
): Promise<{ readonly result: R; readonly values: Values } | null> {
  const { text, isDangerous = false, fields = {}, typed } = question
  const dialog = element('dialog', { 'aria-labelledby': 'question' }) as HTMLDialogElement // safe: it is a dialog
  const inputs = Object.entries(fields).map(([name, { label, type = 'text', value = '', isRequired = false }]) =>
    (type === 'checkbox' ? box : field)(label, {
      name,
      type,
      value,
      ...(isRequired && { required: '' }),
      ...(type === 'datetime-local' && { max: '9999-12-31T23:59' }), // later ones are no times of JavaScript
    }),
  )
  const textIn = ({ type, value, checked }: HTMLInputElement): string => {
    if (type === 'checkbox') return checked ? value : ''
    return type === 'password' ? value : value.trim()
  }
  const confirmation = typed === undefined ? null : field(texts.ask.typeAddress, { name: 'typed', type: 'text' })
  const fault = element('p', { class: 'fault', role: 'alert' })
  /** A new login in another tab keeps what was typed here. */
  const refuse = (message: string, ...ways: readonly HTMLElement[]): void => {
    if (!dialog.isConnected) {
      say(message, 'bad', ...ways) // the person has gone on meanwhile
      return
    }
    for (const way of ways) way.setAttribute('target', '_blank')
    fault.replaceChildren(message, ' ', ...ways, ...(ways.length === 0 ? [] : [' ', texts.ask.thenAgain]))
  }
  return new Promise((resolve) => {
    const end = (done: { readonly result: R; readonly values: Values } | null): void => {
      dialog.remove()
      resolve(done)
    }
    const cancel = button(texts.ask.cancel, 'second', () => dialog.close())
    const go = element('button', { type: 'submit', class: isDangerous ? 'danger' : '' }, question.button)
    const form = element(
      'form',
      {},
      element('p', { id: 'question' }, data(text)),
      ...inputs.map(([row]) => row),
      ...(confirmation === null ? [] : [confirmation[0]]),
      fault,
      element('div', { class: 'acts' }, cancel, go),
    )
    if (confirmation !== null) {
      const isTyped = () => confirmation[1].value.trim().toLowerCase() === typed?.toLowerCase()
      go.toggleAttribute('disabled', true)
      confirmation[1].addEventListener('input', () => go.toggleAttribute('disabled', !isTyped()))
    }
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      if (form.getAttribute('aria-busy') === 'true') return
      fault.replaceChildren()
      const values = Object.fromEntries(inputs.map(([, input]) => [input.name, textIn(input)]))
      if (inputs.some(([, { name, required }]) => required && values[name] === '')) return refuse(texts.ask.missing)
      form.setAttribute('aria-busy', 'true')
      cancel.toggleAttribute('disabled', true) // what is sent cannot be called back
      try {
        const done = await attempt(async () => ({ result: await act(values), values }), refuse)
        if (done !== null) end(done)
      } finally {
        form.removeAttribute('aria-busy')
        cancel.toggleAttribute('disabled', false)
      }
    })
    form.addEventListener('input', () => fault.replaceChildren()) // it was about the former text
    go.addEventListener('click', (event) => {
      if (event.detail > 1) event.preventDefault() // the second click of the double click that has opened the dialog
    })
    dialog.addEventListener('cancel', (event) => {
      if (form.getAttribute('aria-busy') === 'true') event.preventDefault()
    })
    dialog.addEventListener('close', () => end(null))
    dialog.append(form)
    document.body.append(dialog)
    dialog.showModal()
    if (isDangerous && typed === undefined) cancel.focus() // the key that has opened it, pressed twice, confirms nothing
  })
}
