type Input = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** The inputs of the deployer's fields. */
export const ownInputs = [...document.querySelectorAll<Input>('#form [data-field]')]

/** The values of the deployer's fields in the form, as JSON takes them. `null`: none is given. */
export function ownValues(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(ownInputs.map((input) => [input.dataset.field, typedValue(input)]))
}

/** Shows a value of the service in its input. */
export function showValue(input: Input, value: unknown): void {
  if (input instanceof HTMLInputElement && input.type === 'checkbox') input.checked = value === true
  else input.value = Array.isArray(value) ? value.join('\n') : String(value ?? '')
}

function typedValue(input: Input): unknown {
  const { value, dataset } = input
  // A part of a date or of a number: the service refuses the empty text with a message.
  if (input.validity.badInput) return ''
  switch (dataset.type) {
    case 'boolean':
      if (input instanceof HTMLInputElement && input.checked) return true
      return dataset.emptyIsNone === undefined ? false : null
    case 'list': {
      const lines = value.split('\n').map((line) => line.trim())
      const items = lines.filter((line) => line !== '')
      return items.length === 0 ? null : items
    }
    case 'number':
    case 'integer':
      return value === '' ? null : Number(value)
    default:
      return value === '' ? null : value
  }
}
