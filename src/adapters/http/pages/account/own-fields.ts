import type { Field } from '../../../../domain/field.ts'
import { doors, isTaken } from '../../../../domain/fields.ts'
import { partsOf, withoutLinks } from '../../../../lib/linked-text.ts'
import { type Html, html } from '../html.ts'
import { form } from './form.ts'
import type { Texts } from './texts/en.ts'

type Titled = Pick<Field, 'name' | 'title'>
type Language = Pick<Texts, 'language'>

/** The name of a field in the language of the page, without its links. */
export function titleOf(field: Titled, language: Language): string {
  return withoutLinks(writtenTitle(field, language))
}

function writtenTitle({ name, title }: Titled, { language }: Language): string {
  return title[language] ?? title.en ?? Object.values(title)[0] ?? name
}

/** The links open in a new tab, so that the form keeps its values. */
function linkedTitle(field: Titled, language: Language): Html[] {
  return partsOf(writtenTitle(field, language)).map(({ text, address }) =>
    address === null ? html`${text}` : html`<a href="${address}" target="_blank" rel="noopener">${text}</a>`,
  )
}

/** The inputs of the fields that a registration takes. */
export function signUpInputs(fields: readonly Field[], texts: Texts): Html[] {
  return fields.filter((field) => isTaken(field, doors.registration)).map((field) => ownInput(field, texts))
}

/** The fields that the user may read: a form for those that the user may write, and the others as text. */
export function detailsSection(fields: readonly Field[], texts: Texts): Html | null {
  const shown = fields.filter(({ isPrivate }) => !isPrivate)
  if (shown.length === 0) return null
  const written = shown.filter((field) => isTaken(field, doors.ownChange))
  const inputs = written.map((field) => ownInput(field, texts))
  const read = shown.filter((field) => !written.includes(field))
  return html`<section aria-labelledby="details-heading">
<h2 id="details-heading">${texts.ownFields.heading}</h2>
<p id="details-open" hidden></p>
${inputs.length === 0 ? null : form(texts.ownFields.save, inputs)}
<ul class="rows">
${read.map((field) => shownRow(field, texts))}
</ul>
</section>`
}

function shownRow(field: Field, texts: Texts): Html {
  const value = html`<span data-shown="${field.name}" data-type="${field.type}"></span>`
  return html`<li><div><p class="hint">${linkedTitle(field, texts)}</p>${value}</div></li>`
}

/** A longer text gets an input of several lines. */
const longestLine = 255

/**
 * An input has no name, which could be that of a member of the form. The script reads its value as its type demands.
 */
function ownInput(field: Field, texts: Texts): Html {
  const { name, type, options, maxLength, atRegistration } = field
  const id = `field-${name}`
  const isRequired = atRegistration === 'required'
  const isBox = type === 'boolean'
  const hint = type === 'list' ? listHint(field, texts) : null
  const mark = isRequired || isBox ? null : html` <span class="optional">${texts.ownFields.optional}</span>`
  const label = html`<label for="${id}"${isBox ? html` class="choice"` : null}>${linkedTitle(field, texts)}${mark}</label>`
  // A box that nobody has to tick gives no value while it is empty, because `false` would be refused.
  const emptyIsNone = field.mustBeTrue && !isRequired
  const described = hint === null ? `${id}-fault` : `${id}-hint ${id}-fault`
  const common = html` id="${id}" data-field="${name}" data-type="${type}" aria-describedby="${described}"${isRequired ? html` data-required` : null}${isRequired && !isBox ? ' required' : null}${emptyIsNone ? html` data-empty-is-none` : null}`
  const initial = field.default === null ? '' : String(field.default)
  const input = (): Html => {
    if (options !== null && type === 'string') {
      const choices = options.map(
        (option) => html`<option value="${option}"${option === initial ? ' selected' : null}>${option}</option>`,
      )
      return html`<select${common}><option value="">${texts.ownFields.choose}</option>${choices}</select>`
    }
    if (type === 'list' || (type === 'string' && maxLength > longestLine)) {
      const text = Array.isArray(field.default) ? field.default.join('\n') : initial
      // A parser drops the first line break.
      return html`<textarea${common} rows="3">
${text}</textarea>`
    }
    if (isBox) return html`<input${common} type="checkbox"${field.default === true ? ' checked' : null}>`
    if (type === 'date') return html`<input${common} type="date" value="${initial}">`
    if (type === 'string') return html`<input${common} type="text" value="${initial}">`
    return html`<input${common} type="number" step="${type === 'integer' ? '1' : 'any'}" value="${initial}">`
  }
  return html`<div class="field">
${isBox ? html`<div class="box">${input()}${label}</div>` : [label, input()]}
${hint === null ? null : html`<p class="hint" id="${id}-hint">${hint}</p>`}
<p class="fault" id="${id}-fault"></p>
</div>`
}

function listHint({ options }: Field, { ownFields }: Texts): string {
  return options === null ? ownFields.perLine : `${ownFields.perLine} ${options.join(', ')}`
}
