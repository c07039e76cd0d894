import { type Html, html } from '../html.ts'
import { form } from './form.ts'
import { detailsSection, signUpInputs, titleOf } from './own-fields.ts'
import type { PageName, PageProvider } from './page-data.ts'
import type { Site } from './site.ts'
import type { Texts } from './texts/en.ts'

interface Body {
  readonly title: string
  readonly content: Html
}

type Compose = (texts: Texts, site: Site) => Body

/** The content of each page below its title. Each page has at most one form, so that password managers know what it is for. */
export const bodies: Readonly<Record<PageName, Compose>> = {
  'sign-in': (texts, { routes, providers, loginField, passkeys }) => ({
    title: texts.signIn.title,
    content: html`<div id="step">
${form(texts.signIn.button, [
  field('username', loginLabel(texts, loginField), {
    autocomplete: passkeys ? 'username webauthn' : 'username',
    isText: loginField !== null,
  }),
  field('password', texts.password, { autocomplete: 'current-password', show: texts.script.show }),
])}
${passkeys ? html`<button type="button" id="passkey" class="second" hidden>${texts.signIn.passkey}</button>` : null}
${buttonsOf(texts, providers)}
${links([
  routes.resetPassword === null ? null : link('forgot', texts.signIn.forgot),
  routes.register === null ? null : link('sign-up', texts.signIn.signUp),
])}
</div>`,
  }),

  'sign-up': (texts, { minPasswordLength, providers, fields }) => ({
    title: texts.signUp.title,
    content: html`<div id="step">
${form(texts.signUp.button, [
  field('email', texts.email, { autocomplete: 'username' }),
  newPassword(texts.password, texts, minPasswordLength),
  ...signUpInputs(fields, texts),
])}
${buttonsOf(texts, providers)}
${links([link('sign-in', texts.signUp.signIn)])}
</div>`,
  }),

  forgot: (texts) => ({
    title: texts.forgot.title,
    content: html`<div id="step">
<p>${texts.forgot.intro}</p>
${form(texts.forgot.button, [field('email', texts.email, { autocomplete: 'username' })])}
${links([link('sign-in', texts.forgot.signIn)])}
</div>`,
  }),

  reset: (texts, { minPasswordLength }) => ({
    title: texts.reset.title,
    content: html`<div id="step">
${form(texts.reset.button, [username, newPassword(texts.newPassword, texts, minPasswordLength)])}
${paste(texts)}
${links([link('forgot', texts.reset.again), link('sign-in', texts.forgot.signIn)])}
</div>`,
  }),

  verify: (texts) => ({
    title: texts.verify.title,
    content: html`<div id="step">
<div id="question">
<p>${texts.verify.intro}</p>
<div class="group">
<button type="button" id="confirm" disabled>${texts.verify.button}</button>
<button type="button" id="reject" class="second" disabled aria-describedby="reject-hint">${texts.verify.reject}</button>
<p class="hint" id="reject-hint">${texts.verify.rejectHint}</p>
</div>
</div>
${paste(texts)}
${links([link('account', texts.verify.toAccount)])}
</div>`,
  }),

  account: (texts, { routes, providers, allowsDeletion, allowsExport, fields }) => ({
    title: texts.account.title,
    content: html`<p id="loading">${texts.loading}</p>
<div id="step" hidden>
<div class="who">
<span class="avatar" id="avatar" aria-hidden="true"></span>
<b id="email"></b>
<button type="button" id="sign-out" class="quiet">${texts.account.signOut}</button>
</div>
${detailsSection(fields, texts)}
<section aria-labelledby="access-heading">
<h2 id="access-heading">${texts.account.access}</h2>
<ul class="rows">
<li>
<div>
<p class="hint">${texts.email}</p>
<span id="address"></span> <span id="state" class="badge"></span>
<p class="hint" id="link-sent" hidden>${texts.account.linkSent}</p>
<button type="button" id="resend" class="quiet" hidden>${texts.account.resend}</button>
</div>
<a class="button quiet" href="#" data-page-name="address" aria-label="${texts.address.title}">${texts.account.change}</a>
</li>
<li>
<div>
<p class="hint">${texts.password}</p>
<span id="password-state"></span>
<div id="unknown-password" hidden>
<p class="hint">${texts.account.unknownPassword}</p>
<button type="button" id="mail-password" class="quiet">${texts.script.setPassword}</button>
</div>
</div>
<a class="button quiet" href="#" data-page-name="password" id="change-password" aria-label="${texts.changePassword.title}">${texts.account.change}</a>
</li>
${routes.factors ? factorRow(texts) : null}
</ul>
</section>
<section id="linked" aria-labelledby="linked-heading">
<h2 id="linked-heading">${texts.account.linked}</h2>
<p id="none-linked" class="hint">${texts.account.noneLinked}</p>
<ul id="accounts" class="rows"></ul>
<ul class="rows">
${providers.map((one) => linkableRow(texts, one))}
</ul>
</section>
<section id="signed-in" aria-labelledby="sessions-heading">
<h2 id="sessions-heading">${texts.account.sessions}</h2>
<ul id="sessions" class="rows"></ul>
</section>
<div class="row">
<p class="hint" id="everywhere-hint">${texts.account.everywhereHint}</p>
<button type="button" id="everywhere" class="quiet" aria-describedby="everywhere-hint">${texts.account.everywhere}</button>
</div>
${allowsExport ? exportSection(texts) : null}
${allowsDeletion ? deletionSection(texts) : null}
</div>`,
  }),

  factors: (texts, { passkeys }) => ({
    title: texts.factors.title,
    content: html`<p id="loading">${texts.loading}</p>
<div id="step" hidden>
<div id="keeping" hidden>
<p id="reset-at">${texts.factors.keepIntro}</p>
<div class="group">
<button type="button" id="keep">${texts.factors.keep}</button>
</div>
</div>
<div id="present" hidden>
<p id="since"></p>
<div class="group">
<button type="button" id="remove" class="second danger">${texts.factors.remove}</button>
</div>
</div>
<div id="recovery" hidden>
<p class="hint" id="codes-left"></p>
<div class="group">
<button type="button" id="renew" class="second">${texts.factors.renew}</button>
</div>
</div>
<button type="button" id="begin" class="second" hidden>${texts.factors.begin}</button>
<div id="adding" hidden>
<p>${texts.factors.intro}</p>
<img id="qr" class="qr" alt="${texts.factors.image}">
<p class="hint">${texts.factors.secret} <code id="secret"></code></p>
<p><a id="open-app" href="#">${texts.factors.openApp}</a></p>
${form(texts.factors.button, [field('code', texts.factors.code, { autocomplete: 'one-time-code', isText: true })])}
</div>
${passkeys ? passkeySection(texts) : null}
<button type="button" id="sign-out" class="quiet" hidden>${texts.account.signOut}</button>
${links([link('account', texts.back)])}
</div>`,
  }),

  address: (texts, { routes }) => ({
    title: texts.address.title,
    content: html`<div id="step">
${form(texts.address.button, [
  username,
  field('email', texts.address.field, {
    autocomplete: 'email',
    ...(routes.verify !== null && { hint: texts.address.hint }),
  }),
  currentPassword(texts),
])}
${links([link('account', texts.back)])}
</div>`,
  }),

  delete: (texts, { providers }) => ({
    title: texts.deletion.title,
    content: html`<p id="loading">${texts.loading}</p>
<div id="step" hidden>
<p>${texts.deletion.intro}</p>
<ul class="listed">
<li id="account">${texts.deletion.account}</li>
${providers.length === 0 ? null : html`<li>${texts.deletion.links}</li>`}
<li>${texts.deletion.sessions}</li>
</ul>
<div class="group">
<button type="button" id="delete" class="danger">${texts.deletion.button}</button>
</div>
${links([link('account', texts.back)])}
</div>`,
  }),

  password: (texts, { minPasswordLength }) => ({
    title: texts.changePassword.title,
    content: html`<div id="step">
${form(texts.changePassword.button, [
  username,
  currentPassword(texts),
  newPassword(texts.newPassword, texts, minPasswordLength),
])}
${links([link('account', texts.back)])}
</div>`,
  }),
}

function passkeySection(texts: Texts): Html {
  return html`<section id="passkey-section" aria-labelledby="passkeys-heading" hidden>
<h2 id="passkeys-heading">${texts.factors.passkeys}</h2>
<p class="hint">${texts.factors.passkeyIntro}</p>
<ul id="passkeys" class="rows"></ul>
<div class="group">
<button type="button" id="add-passkey" class="second">${texts.factors.addPasskey}</button>
</div>
</section>`
}

function factorRow(texts: Texts): Html {
  return html`<li>
<div>
<p class="hint">${texts.factors.title}</p>
<span id="factor-state"></span>
<p class="fault" id="factor-reset"></p>
</div>
<a class="button quiet" href="#" data-page-name="factors" id="change-factor" aria-label="${texts.factors.change}">${texts.account.change}</a>
</li>`
}

interface FieldOptions {
  readonly autocomplete:
    | 'username'
    | 'username webauthn'
    | 'email'
    | 'current-password'
    | 'new-password'
    | 'one-time-code'
  readonly hint?: string
  readonly isOptional?: boolean
  /** A login name is no address. */
  readonly isText?: boolean
  /** The text of the button that shows a password. */
  readonly show?: string
}

function field(name: string, label: string, options: FieldOptions): Html {
  const { autocomplete, hint, isOptional = false, isText = false, show = '' } = options
  const type = autocomplete.endsWith('password') ? 'password' : isText ? 'text' : 'email'
  const described = hint === undefined ? `${name}-fault` : `${name}-hint ${name}-fault`
  const input = html`<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" autocapitalize="off" spellcheck="false" aria-describedby="${described}"${isOptional ? null : ' required'}>`
  return html`<div class="field">
<label for="${name}" id="${name}-label">${label}</label>
${type === 'password' ? html`<div class="secret">${input}${reveal(name, show)}</div>` : input}
${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}
<p class="fault" id="${name}-fault"></p>
</div>`
}

function loginLabel(texts: Texts, field: Site['loginField']): string {
  if (field === null) return texts.email
  return texts.emailOr.replace('{field}', () => titleOf(field, texts))
}

/** Its name is "Show" and the label of the field. */
function reveal(name: string, show: string): Html {
  return html`<button type="button" class="quiet reveal" id="${name}-reveal" aria-controls="${name}" aria-labelledby="${name}-reveal ${name}-label">${show}</button>`
}

/** Tells password managers which account the new password is for. */
const username = html`<input id="username" name="username" type="email" autocomplete="username" hidden>`

function currentPassword(texts: Texts): Html {
  return field('current_password', texts.currentPassword, {
    autocomplete: 'current-password',
    hint: texts.currentHint,
    isOptional: true,
    show: texts.script.show,
  })
}

function newPassword(label: string, texts: Texts, minLength: number): Html {
  const hint = texts.signUp.hint.replace('{length}', String(minLength))
  return field('password', label, { autocomplete: 'new-password', hint, show: texts.script.show })
}

/** For a link that has lost its token on the way. It is no form, so that password managers ignore it. */
function paste({ paste: { label, button } }: Texts): Html {
  return html`<div id="paste" hidden>
<div class="field">
<label for="link">${label}</label>
<input id="link" type="text" autocomplete="off" spellcheck="false" aria-describedby="link-fault">
<p class="fault" id="link-fault" role="alert"></p>
</div>
<button type="button" id="open-link">${button}</button>
</div>`
}

function buttonsOf(texts: Texts, providers: Site['providers']): Html | null {
  const usable = providers.filter(({ login }) => login !== null)
  if (usable.length === 0) return null
  const items = usable.map((one) => {
    const text = texts.continueWith.replace('{provider}', () => one.label)
    return html`<li><button type="button" class="second with-icon" id="with-${one.name}" disabled>${iconOf(one)}<span>${text}</span></button></li>`
  })
  return html`<p class="or"><span>${texts.or}</span></p>
<ul>
${items}
</ul>`
}

/** A row with the button that links an account of the provider. */
function linkableRow({ script }: Texts, one: PageProvider): Html | null {
  const { name, label, associate } = one
  if (associate === null) return null
  const full = script.linkLabel.replace('{provider}', () => label)
  return html`<li>${iconOf(one)}<div>${label}</div><button type="button" class="quiet" id="link-${name}" aria-label="${full}">${script.link}</button></li>`
}

function exportSection({ account }: Texts): Html {
  return html`<section aria-labelledby="export-heading">
<h2 id="export-heading">${account.exportTitle}</h2>
<div class="row">
<p class="hint" id="export-hint">${account.exportHint}</p>
<button type="button" id="export" class="quiet" aria-describedby="export-hint">${account.export}</button>
</div>
</section>`
}

function deletionSection({ deletion }: Texts): Html {
  return html`<section aria-labelledby="delete-heading">
<h2 id="delete-heading">${deletion.open}</h2>
<div class="row">
<p class="hint" id="delete-hint">${deletion.hint}</p>
<a class="button quiet danger" href="#" data-page-name="delete" aria-describedby="delete-hint">${deletion.button}</a>
</div>
</section>`
}

/** The image of a provider, or its first letter. */
function iconOf({ label, icon }: PageProvider): Html {
  if (icon !== null) return html`<img class="icon" src="${icon}" alt="">`
  return html`<span class="icon" aria-hidden="true">${label.charAt(0)}</span>`
}

function links(all: readonly (Html | null)[]): Html {
  return html`<nav class="links">
${all}
</nav>`
}

/** The script sets the address, which keeps the way back. */
function link(name: PageName, text: string): Html {
  return html`<a href="#" data-page-name="${name}">${text}</a>`
}
