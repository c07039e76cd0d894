import { browserSupportsWebAuthn, startAuthentication, startRegistration } from '@simplewebauthn/browser'
import type { Codes, Passkey } from '../../browser/answers.ts'
import { onSecondClick, showFault } from './form.ts'
import { data, element, filled, texts } from './page.ts'
import { Problem, request } from './requests.ts'
import { dateOf } from './times.ts'

type CreationOptions = Parameters<typeof startRegistration>[0]['optionsJSON']
type RequestOptions = Parameters<typeof startAuthentication>[0]['optionsJSON']

/** Whether the service and the browser can use passkeys. */
export const hasPasskeys = data.passkeys && browserSupportsWebAuthn()

const path = `${data.routes.users}/me/factors/passkeys`

/** Adds a passkey. Resolves to the recovery codes, if it is the first factor. */
export async function addPasskey(): Promise<Codes> {
  const optionsJSON = await request<CreationOptions>('POST', `${path}/options`)
  const response = await orProblem(startRegistration({ optionsJSON }))
  return await request<Codes>('POST', path, { json: { response } })
}

export async function renamePasskey(id: string, name: string): Promise<void> {
  await request('PATCH', `${path}/${id}`, { json: { name } })
}

export async function removePasskey(id: string): Promise<void> {
  await request('DELETE', `${path}/${id}`)
}

/** The last request for a challenge. Two at once would get two cookies, and the browser keeps one. */
let before: Promise<unknown> = Promise.resolve()

/**
 * The answer of a passkey.
 *
 * @param isAutofill waits until the person chooses a passkey among the suggestions of a field
 */
export async function passkeyAnswer(isAutofill = false): Promise<object> {
  const options = before.then(() => request<RequestOptions>('POST', `${data.routes.login}/passkey/options`))
  before = options.catch(() => undefined)
  const optionsJSON = await options
  return await orProblem(startAuthentication({ optionsJSON, useBrowserAutofill: isAutofill }))
}

/** The person has cancelled, or the device has no fitting passkey. Browsers do not tell which. */
async function orProblem<T>(ceremony: Promise<T>): Promise<T> {
  try {
    return await ceremony
  } catch (thrown) {
    const isKnown = thrown instanceof Error && thrown.name === 'InvalidStateError'
    throw new Problem(thrown instanceof Error ? thrown.name : '', isKnown ? texts.passkeyKnown : texts.passkeyCancelled)
  }
}

/** The row of a passkey, with its name in a field. */
export function passkeyRow(
  { id, name, added_at }: Passkey,
  { rename, remove }: { rename: (name: string) => void; remove: () => void },
): HTMLElement {
  const faultId = `name-${id}-fault`
  const named = { id: `name-${id}`, 'aria-label': texts.passkeyName, 'aria-describedby': faultId }
  const attributes = { type: 'text', value: name, maxlength: '64', ...named }
  const field = element('input', attributes) as HTMLInputElement // safe: it is an input
  const button = (text: string): HTMLElement =>
    element('button', { type: 'button', class: 'quiet', 'aria-label': `${text}: ${name}` }, text)
  const renaming = button(texts.rename)
  renaming.addEventListener('click', () => {
    const typed = field.value.trim()
    showFault(field, typed === '' ? texts.fieldMissing : '')
    if (typed === '') field.focus()
    else rename(typed)
  })
  field.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') renaming.click()
  })
  const removing = button(texts.removePasskey)
  onSecondClick(removing, { question: texts.reallyRemove, act: remove })
  const since = filled(texts.passkeySince, { time: dateOf(added_at) })
  return element(
    'li',
    { 'data-id': id },
    element(
      'div',
      {},
      field,
      element('p', { class: 'fault', id: faultId, role: 'alert' }),
      element('p', { class: 'hint' }, since),
    ),
    renaming,
    removing,
  )
}
