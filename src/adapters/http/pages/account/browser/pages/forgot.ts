import { finish, onSubmit } from '../form.ts'
import { data, element, filled, keepAddress, keepReturn, pageUrl, texts } from '../page.ts'
import { request } from '../requests.ts'

onSubmit(async ({ email = '' }) => {
  await request('POST', `${data.routes.resetPassword}/forgot-password`, { json: { email } })
  keepReturn()
  keepAddress(email)
  const way = element('a', { class: 'button second', href: pageUrl('sign-in') }, texts.toSignIn)
  finish(texts.titles.mailSent, filled(texts.forgotSent, { email }), way)
})
