import { finish, onSubmit } from '../form.ts'
import { byId, data, element, keptReturn, pageUrl, say, texts } from '../page.ts'
import { request } from '../requests.ts'
import { forgetToken, linkToken } from '../token.ts'

const token = linkToken()
if (token === null) {
  byId('form').hidden = true
  say(texts.noToken, 'bad')
}

onSubmit(async ({ password = '' }) => {
  await request('POST', `${data.routes.resetPassword}/reset-password`, { json: { token, password } })
  forgetToken()
  finish(texts.passwordSet, element('a', { class: 'button', href: pageUrl('sign-in', keptReturn()) }, texts.toSignIn))
})
