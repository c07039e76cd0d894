import { finish, onClick } from '../form.ts'
import { byId, data, element, filled, keptReturn, open, pageUrl, texts } from '../page.ts'
import { codeOf, type Me, request } from '../requests.ts'
import { askForLink, forgetToken, keepToken, linkToken } from '../token.ts'

const token = linkToken()
if (token === null) askForLink('question')

// Some mail programs open every link, so only the button confirms.
onClick(byId('confirm'), async () => {
  try {
    const { email } = await request<Me>('POST', `${data.routes.verify}/verify`, { json: { token } })
    forgetToken()
    const to = keptReturn() ?? pageUrl('account', null)
    finish(filled(texts.verifiedNow, { email }), element('a', { class: 'button', href: to }, texts.goOn))
  } catch (problem) {
    if (codeOf(problem) !== 'Unauthorized') throw problem
    keepToken(token ?? '')
    open('sign-in', 'signInFirst', new URL(pageUrl('verify', null), location.href).href)
  }
})

onClick(byId('reject'), async () => {
  await request('POST', `${data.routes.verify}/verify/reject`, { json: { token } })
  forgetToken()
  finish(texts.rejected)
})
