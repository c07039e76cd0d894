import createClient from 'openapi-fetch'
import type { components, paths } from './portcullis'

export type Account = components['schemas']['User']

/** A message for people if the service refuses, otherwise `null`. */
export type Problem = string | null

const api = createClient<paths>({
  baseUrl: import.meta.env.VITE_ACCOUNTS_URL ?? 'http://localhost:3000',
  credentials: 'include',
})

/** A login takes a form; openapi-fetch sends JSON unless told otherwise. */
const asForm = {
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  bodySerializer: (fields: object) => new URLSearchParams(Object.entries(fields)),
}

export async function me(): Promise<Account | null> {
  const { data, error, response } = await api.GET('/users/me')
  if (data) return data
  if (response.status === 401) return null
  throw new Error(error.detail)
}

export async function signUp(email: string, password: string): Promise<Problem> {
  const { error } = await api.POST('/auth/register', { body: { email, password } })
  return problemOf(error, { REGISTER_USER_ALREADY_EXISTS: 'This address has an account. Sign in instead.' })
}

export async function signIn(email: string, password: string): Promise<Problem> {
  const { error } = await api.POST('/auth/cookie/login', { ...asForm, body: { username: email, password } })
  return problemOf(error, { LOGIN_BAD_CREDENTIALS: 'The address or the password is wrong.' })
}

export async function signOut(): Promise<Problem> {
  const { error } = await api.POST('/auth/cookie/logout')
  return problemOf(error, { Unauthorized: 'You were signed out already.' })
}

export async function changePassword(current: string, password: string): Promise<Problem> {
  const { error } = await api.PATCH('/users/me', { body: { current_password: current, password } })
  return problemOf(error, {
    UPDATE_USER_BAD_CURRENT_PASSWORD: 'This is not your current password.',
    Unauthorized: 'Your session has ended. Please sign in again.',
  })
}

type Detail<Code> = Code | { code: string; reason: string; rule: string } | { loc: (string | number)[]; msg: string }[]

/** The message for an error. `words` has the codes of the operation and no others, or it does not compile. */
function problemOf<Code extends string>(
  error: { detail: Detail<Code> } | undefined,
  words: Partial<Record<NoInfer<Code>, string>>,
): Problem {
  if (error === undefined) return null
  const { detail } = error
  if (typeof detail === 'string') return words[detail] ?? 'That did not work. Please try again later.'
  if (Array.isArray(detail)) return detail.map(({ loc, msg }) => `${loc.at(-1)}: ${msg}`).join('. ')
  return detail.reason
}
