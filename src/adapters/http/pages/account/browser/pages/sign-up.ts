import { finish, onClick, onSubmit } from '../form.ts'
import { data, element, filled, keepReturn, open, returnTo, say, texts, wayOn } from '../page.ts'
import { logIn, Problem, request, requestVerification } from '../requests.ts'

onSubmit(async ({ email = '', password = '' }) => {
  await request('POST', `${data.routes.register}/register`, { json: { email, password } })
  keepReturn()
  try {
    await logIn(email, password)
    if (returnTo === null && data.sendsLinkOnSignUp) open('account', 'created')
    else location.assign(wayOn)
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.code !== 'LOGIN_USER_NOT_VERIFIED') throw problem
    const button = element('button', { type: 'button', class: 'second' }, texts.resend)
    onClick(button, async () => {
      await requestVerification(email)
      say(filled(texts.linkSent, { email }))
    })
    finish(filled(texts.checkMail, { email }), button)
  }
})
