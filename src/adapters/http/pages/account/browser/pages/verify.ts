import type { Me } from '../../../browser/answers.ts'
import { finish, onClick } from '../form.ts'
import { byId, data, element, filled, keptReturn, open, pageUrl, texts, wayText } from '../page.ts'
import { codeOf, request } from '../requests.ts'
import { askForLink, forgetToken, keepToken, leaveOnlyWayOn, linkToken } from '../token.ts'

const token = linkToken()
if (token === null) askForLink('question')

/** The buttons of a dead link can do nothing, so the page keeps only the way to the account. */
async function withLink(act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (problem) {
    if (['VERIFY_USER_BAD_TOKEN', 'VERIFY_USER_ALREADY_VERIFIED'].includes(codeOf(problem) ?? '')) {
      leaveOnlyWayOn('question')
      byId('title').focus()
    }
    throw problem
  }
}

// Some mail programs open every link, so only the button confirms.
onClick(byId('confirm'), () =>
  withLink(async () => {
    try {
      const { email } = await request<Me>('POST', `${data.routes.verify}/verify`, { json: { token } })
      forgetToken()
      const back = keptReturn()
      const to = back ?? pageUrl('account', null)
      const text = filled(texts.verifiedNow, { email })
      finish(texts.titles.verified, text, element('a', { class: 'button', href: to }, wayText(back)))
    } catch (problem) {
      if (codeOf(problem) !== 'Unauthorized') throw problem
      keepToken(token ?? '')
      open('sign-in', 'signInFirst', new URL(pageUrl('verify', null), location.href).href)
    }
  }),
)

onClick(byId('reject'), () =>
  withLink(async () => {
    await request('POST', `${data.routes.verify}/verify/reject`, { json: { token } })
    forgetToken()
    finish(texts.titles.rejected, texts.rejected)
  }),
)
