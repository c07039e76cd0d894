import { attempt, finish, onClick, onSubmit } from '../form.ts'
import { byId, data, element, filled, notice, parameters, say, texts, wayOn } from '../page.ts'
import { leaveFor, logIn, Problem, problemOf, requestVerification, signedIn } from '../requests.ts'

onSubmit(async ({ username = '', password = '' }) => {
  try {
    await logIn(username, password)
    location.assign(wayOn)
  } catch (problem) {
    const isUnverified = problem instanceof Problem && problem.code === 'LOGIN_USER_NOT_VERIFIED'
    if (!isUnverified || data.routes.verify === null) throw problem
    askToVerify(username)
  }
})

function askToVerify(email: string): void {
  const button = element('button', { type: 'button' }, texts.resend)
  onClick(button, async () => {
    await requestVerification(email)
    say(filled(texts.linkSent, { email }))
  })
  finish(texts.errors.LOGIN_USER_NOT_VERIFIED ?? '', button)
}

for (const { name, login } of data.providers) {
  if (login === null) continue
  onClick(byId(`with-${name}`), () => leaveFor(login, wayOn))
}

if (parameters.has('error')) say(problemOf(parameters.get('error')).message, 'bad')
else {
  await attempt(async () => {
    // People who are signed in go on at once. A page that sends them here with a message needs another or a newer login.
    if (notice === null && (await signedIn()) !== null) location.replace(wayOn)
  })
}
