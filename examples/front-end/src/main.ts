import * as accounts from './accounts'

function byId<E extends HTMLElement>(id: string, type: new () => E): E {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`index.html has no ${type.name} #${id}`)
  return element
}

const message = byId('message', HTMLElement)

async function show(): Promise<void> {
  const account = await accounts.me()
  byId('signed-out', HTMLElement).hidden = account !== null
  byId('signed-in', HTMLElement).hidden = account === null
  byId('email', HTMLElement).textContent = account?.email ?? ''
  byId('username', HTMLInputElement).value = account?.email ?? '' // for password managers
  byId('verified', HTMLElement).textContent = account?.is_verified
    ? 'Your address is verified.'
    : 'Your address is not verified.'
}

/** The service does not answer, or the browser blocks the answer. The console of the browser says why. */
function unreachable(): void {
  message.textContent = 'The service does not answer. Please try again later.'
}

/** Passes the fields of the form to `act`, and shows the problem to which it resolves, or `done`. */
function onSubmit(id: string, act: (field: (name: string) => string) => Promise<accounts.Problem>, done: string): void {
  const form = byId(id, HTMLFormElement)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const fields = new FormData(form)
    try {
      const problem = await act((name) => String(fields.get(name)))
      message.textContent = problem ?? done
      if (problem === null) form.reset()
      await show()
    } catch {
      unreachable()
    }
  })
}

onSubmit(
  'sign-up',
  async (field) => {
    const problem = await accounts.signUp(field('email'), field('password'))
    return problem ?? accounts.signIn(field('email'), field('password'))
  },
  'Welcome!',
)
onSubmit('sign-in', (field) => accounts.signIn(field('email'), field('password')), 'Welcome back.')
onSubmit('sign-out', () => accounts.signOut(), 'You are signed out.')
onSubmit('change-password', (field) => accounts.changePassword(field('current'), field('password')), 'Saved.')

await show().catch(unreachable)
