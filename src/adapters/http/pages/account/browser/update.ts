import { attempt, onSubmit } from './form.ts'
import { byId, data, type Notice, open } from './page.ts'
import { Problem, request, signedIn } from './requests.ts'

/** The form that changes one field of the own account. */
export async function updateForm(field: 'email' | 'password', notice: Notice): Promise<void> {
  onSubmit(async (fields) => {
    const { current_password = '' } = fields
    const changes = { [field]: fields[field], ...(current_password !== '' && { current_password }) }
    try {
      await request('PATCH', `${data.routes.users}/me`, { json: changes })
      open('account', notice)
    } catch (problem) {
      if (problem instanceof Problem && problem.code === 'Unauthorized') return open('sign-in')
      throw asNeedsPassword(problem)
    }
  })
  await attempt(async () => {
    const user = await signedIn()
    if (user === null) open('sign-in', undefined, location.href)
    else byId<HTMLInputElement>('username').value = user.email
  })
}

/** A login that is too old needs the current password. */
function asNeedsPassword(problem: unknown): unknown {
  if (!(problem instanceof Problem) || problem.code !== 'FRESH_LOGIN_REQUIRED') return problem
  return new Problem('', '', { current_password: data.texts.fieldMissing })
}
