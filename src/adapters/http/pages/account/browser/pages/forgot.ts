import { finish, onSubmit } from '../form.ts'
import { data, filled, keepReturn, texts } from '../page.ts'
import { request } from '../requests.ts'

onSubmit(async ({ email = '' }) => {
  await request('POST', `${data.routes.resetPassword}/forgot-password`, { json: { email } })
  keepReturn()
  finish(filled(texts.forgotSent, { email }))
})
