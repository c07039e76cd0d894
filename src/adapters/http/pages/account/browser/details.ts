import type { Me } from '../../browser/answers.ts'
import { shown } from '../../browser/dom.ts'
import { ownInputs, ownValues, showValue } from './field-values.ts'
import { asUser, onSubmit, showFault } from './form.ts'
import { byId, data, filled, say, texts } from './page.ts'
import { request } from './requests.ts'
import { dayOf } from './times.ts'

/** The form with the values of the service. */
let saved: Readonly<Record<string, unknown>> = {}
/** Required fields without a value, as after a sign-in with a provider. */
let open: typeof ownInputs = []

/** Shows the values of the deployer's fields. */
export function showDetails(user: Me): void {
  for (const place of document.querySelectorAll<HTMLElement>('[data-shown]')) {
    place.textContent = textOf(user[place.dataset.shown ?? ''], place.dataset.type)
  }
  for (const input of ownInputs) showValue(input, user[nameOf(input)])
  saved = ownValues()
  if (ownInputs.length > 0) askForOpen(user)
}

function askForOpen(user: Me): void {
  open = ownInputs.filter((input) => input.dataset.required !== undefined && user[nameOf(input)] === null)
  for (const input of open) showFault(input, texts.fieldMissing)
  const fields = open.map((input) => input.labels?.[0]?.textContent).join(', ')
  byId('details-open').textContent = filled(texts.detailsOpen, { fields })
  byId('details-open').hidden = open.length === 0
}

/** Other values stay out of the request, because another tab or program may have changed them. */
function changes(): Readonly<Record<string, unknown>> {
  const asked = open.map(nameOf)
  const isChanged = ([name, value]: [string, unknown]): boolean =>
    asked.includes(name) || JSON.stringify(value) !== JSON.stringify(saved[name])
  return Object.fromEntries(Object.entries(ownValues()).filter(isChanged))
}

function nameOf({ dataset }: HTMLElement): string {
  return dataset.field ?? ''
}

function textOf(value: unknown, type = ''): string {
  return type === 'date' && typeof value === 'string' ? dayOf(value) : shown(value, texts)
}

if (ownInputs.length > 0) {
  onSubmit(() =>
    asUser(async () => {
      showDetails(await request<Me>('PATCH', `${data.routes.users}/me`, { json: changes() }))
      say(texts.detailsSaved)
      byId('title').focus()
    }),
  )
}
