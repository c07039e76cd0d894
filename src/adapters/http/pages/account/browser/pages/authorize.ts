import { asUser, onClick, sendLinkOnClick } from '../form.ts'
import { byId, keepReturn, say, texts } from '../page.ts'
import { request } from '../requests.ts'

const here = location.href
const resend = document.getElementById('resend')
if (resend !== null) {
  keepReturn(here)
  sendLinkOnClick(resend, resend.dataset.email ?? '')
}

const button = document.getElementById('continue')
if (button !== null) {
  onClick(button, () =>
    asUser(async () => {
      const json = { query: location.search.slice(1) }
      const answer = await request<{ redirect_to: string }>('POST', '/account/authorize/continue', { json })
      location.assign(answer.redirect_to)
      // The scheme of an app leaves this page open.
      say(texts.appOpened)
      byId('title').focus()
    }, here),
  )
}
