import { ownValues } from '../field-values.ts'
import { finish, offerProviders, onSubmit, sendLinkOnClick } from '../form.ts'
import { data, element, filled, keepReturn, open, returnTo, texts, wayOn } from '../page.ts'
import { codeOf, logIn, noteLink, request } from '../requests.ts'

onSubmit(async ({ email = '', password = '' }) => {
  await request('POST', `${data.routes.register}/register`, { json: { ...ownValues(), email, password } })
  keepReturn()
  if (data.sendsLinkOnSignUp) noteLink(email)
  try {
    await logIn(email, password)
    if (returnTo === null && data.sendsLinkOnSignUp) open('account', 'created')
    else location.assign(wayOn)
  } catch (problem) {
    if (codeOf(problem) !== 'LOGIN_USER_NOT_VERIFIED') throw problem
    const button = element('button', { type: 'button', class: 'second' }, texts.resend)
    sendLinkOnClick(button, email)
    finish(texts.titles.mailSent, filled(texts.checkMail, { email }), button)
  }
})

offerProviders()
