import { asUser, attempt, finish, onClick } from '../form.ts'
import { backText, byId, data, element, filled, pageUrl, returnTo, texts } from '../page.ts'
import { actAs, Problem, request, signedIn } from '../requests.ts'

// A login that is too old leads to a new one, which leads back here.
onClick(byId('delete'), () =>
  asUser(async () => {
    await request('DELETE', `${data.routes.users}/me`).catch((problem: unknown) => {
      // The handler says why, in its own words.
      if (!(problem instanceof Problem) || problem.code !== 'DELETE_USER_REFUSED') throw problem
      throw new Problem(problem.code, filled(texts.notDeleted, { reason: problem.reason }))
    })
    const back = returnTo && backText(returnTo)
    const way = { class: 'button', href: (back && returnTo) ?? pageUrl('sign-in') }
    finish(texts.titles.deleted, texts.deleted, element('a', way, back ?? texts.toSignIn))
  }, location.href),
)

await attempt(async () => {
  const user = await signedIn()
  if (user === null) return location.replace(pageUrl('sign-in', location.href))
  actAs(user)
  byId('account').textContent = filled(byId('account').textContent ?? '', { email: user.email })
  byId('loading').hidden = true
  byId('step').hidden = false
})
