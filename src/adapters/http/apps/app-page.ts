import { accountReply, textsFor } from '../pages/account/account-document.ts'
import type { Site } from '../pages/account/site.ts'
import { html } from '../pages/html.ts'
import type { Reply } from '../reply.ts'
import type { AppPage } from './apps-router.ts'

/** The pages that stop a sign-in for an app. */
export function appPages(site: Site, publicUrl: string): (page: AppPage) => Reply {
  return ({ kind, app, email, another, languages }) => {
    const texts = textsFor(languages, site.contact)
    const { authorize, problem, script } = texts
    const named = (text: string) => text.replaceAll('{app}', () => app).replaceAll('{email}', () => email)
    const toVerify = html`<p>${named(authorize.unverified)}</p>
${site.routes.verify === null ? null : html`<button type="button" id="resend" data-email="${email}">${script.resend}</button>`}`
    const toContinue = html`<p>${named(problem.signedInAs)}</p>
<div class="group">
<button type="button" id="continue" aria-describedby="continue-hint">${named(authorize.title)}</button>
<p class="hint" id="continue-hint">${named(authorize.hint)}</p>
</div>`
    const content = html`<div id="step">
${kind === 'verify' ? toVerify : toContinue}
<nav class="links">
<a href="${another}">${problem.another}</a>
</nav>
</div>`
    return accountReply('authorize', { title: named(authorize.title), content }, { site, publicUrl, texts })
  }
}
