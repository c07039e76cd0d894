import { button, data, element, field, texts } from './page.ts'

interface Field {
  readonly label: string
  readonly type?: string
  readonly value?: string
  readonly isRequired?: boolean
}

interface Question {
  /** It names the person. */
  readonly text: string
  /** The text of the button that goes on. */
  readonly button: string
  readonly isDangerous?: boolean
  /** The labels of text fields by name, and of a field for a time. */
  readonly fields?: Readonly<Record<string, Field>>
  /** Why the answer before was refused. */
  readonly fault?: string
  /** The text that has to be typed. */
  readonly typed?: string
}

/** Asks in a dialog. Resolves to the values of the fields, or to `null` if the person cancels. */
export function ask(question: Question): Promise<Readonly<Record<string, string>> | null> {
  const { text, isDangerous = false, fields = {}, fault, typed } = question
  const dialog = element('dialog', { 'aria-labelledby': 'question' }) as HTMLDialogElement // safe: it is a dialog
  const inputs = Object.entries(fields).map(([name, { label, type = 'text', value = '', isRequired = false }]) =>
    field(label, { name, type, value, ...(isRequired && { required: '' }) }),
  )
  const confirmation = typed === undefined ? null : field(texts.ask.typeAddress, { name: 'typed', type: 'text' })
  return new Promise((resolve) => {
    const end = (values: Readonly<Record<string, string>> | null): void => {
      dialog.close()
      dialog.remove()
      resolve(values)
    }
    const go = element('button', { type: 'submit', class: isDangerous ? 'danger' : '' }, question.button)
    const form = element(
      'form',
      {},
      element('p', { id: 'question' }, data(text)),
      ...(fault === undefined ? [] : [element('p', { class: 'fault', role: 'alert' }, fault)]),
      ...inputs.map(([row]) => row),
      ...(confirmation === null ? [] : [confirmation[0]]),
      element(
        'div',
        { class: 'acts' },
        button(texts.ask.cancel, 'second', () => end(null)),
        go,
      ),
    )
    if (confirmation !== null) {
      const isTyped = () => confirmation[1].value.trim() === typed
      go.toggleAttribute('disabled', true)
      confirmation[1].addEventListener('input', () => go.toggleAttribute('disabled', !isTyped()))
    }
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      end(
        Object.fromEntries(
          inputs.map(([, input]) => [input.name, input.type === 'password' ? input.value : input.value.trim()]),
        ),
      )
    })
    dialog.addEventListener('cancel', () => end(null))
    dialog.append(form)
    document.body.append(dialog)
    dialog.showModal()
    if (!isDangerous && inputs.length === 0) go.focus()
  })
}
