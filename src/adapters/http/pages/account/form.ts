import { type Html, html } from '../html.ts'

/**
 * The service judges the input, so its answers appear in the language of the page, beside their fields.
 * The script enables the button when it has loaded: a click before would be lost.
 */
export function form(button: string, fields: readonly Html[]): Html {
  return html`<form id="form" method="post" novalidate>
${fields}
<p class="fault" id="form-fault" role="alert"></p>
<button disabled>${button}</button>
</form>`
}
