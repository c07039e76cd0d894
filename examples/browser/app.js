/** The page: turns forms into requests, and answers into messages. client.js and words.js know the service. */
import { Problem, portcullis } from './client.js'

const $ = (id) => document.getElementById(id)

const config = await (await fetch('try/config.json')).json()
const client = portcullis(config, location.pathname.slice(0, -'/try'.length)) // a tenant may have a path of its own

/** The signed-in user with linked accounts and sessions; `user` is null if nobody is signed in. */
const signedOutSession = { user: null, accounts: [], sessions: [] }
let session = signedOutSession

async function refresh() {
  const user = await client.me()
  const [accounts, sessions] = user === null ? [[], []] : await Promise.all([client.accounts(), client.sessions()])
  session = { user, accounts, sessions }
  show()
}

/** The fields of the deployer that a registration needs. */
function addRequiredFields() {
  for (const { name, title, type, options } of config.requiredFields) {
    const id = `register-own-${name}`
    const common = { id, name, 'aria-describedby': `${id}-fault` }
    const input =
      options === null || type === 'list'
        ? element('input', { ...common, type: inputTypes[type] ?? 'text' })
        : element('select', common, ...['', ...options].map((option) => element('option', { value: option }, option)))
    const label = element('label', { for: id }, type === 'list' ? `${title} (with commas between)` : title)
    const fault = element('p', { class: 'fault', id: `${id}-fault` })
    $('register-fault').before(element('div', { class: 'field' }, label, input, fault))
  }
}

const inputTypes = { boolean: 'checkbox', number: 'number', integer: 'number', date: 'date' }

/** The values as JSON has them. An empty one is not given. */
function withOwnFields(account) {
  const values = { ...account }
  for (const { name, type } of config.requiredFields) {
    const text = account[name] ?? ''
    if (type === 'boolean') values[name] = text === 'on'
    else if (text === '') delete values[name]
    else if (type === 'number' || type === 'integer') values[name] = Number(text)
    else if (type === 'list') values[name] = text.split(',').map((item) => item.trim())
  }
  return values
}

// ---- Display --------------------------------------------------------------------------------------------------------

function show() {
  const { user, accounts, sessions } = session
  const states = {
    'signed-in': user !== null,
    'signed-out': user === null,
    unverified: !user?.is_verified,
  }
  for (const section of document.querySelectorAll('[data-when]')) {
    section.hidden = !states[section.dataset.when] || config.routers[section.dataset.needs] === null
  }
  document.querySelector('[data-needs=register]').hidden = config.routers.register === null
  $('page').hidden = false
  $('logout').hidden = user === null
  $('who').textContent = user === null ? 'You are not signed in.' : `Signed in as ${user.email}`
  if (user === null) return

  $('user-email').textContent = user.email
  $('user-id').textContent = user.id
  $('user-verified').textContent = user.is_verified ? 'verified' : 'not verified'
  $('user-verified').classList.toggle('good', user.is_verified)
  $('user-backend').textContent = client.isBearer() ? words.bearer : words.cookie
  $('request-verification-email').value = user.email
  $('accounts').replaceChildren(...accounts.map(accountRow))
  $('no-accounts').hidden = accounts.length > 0
  $('sessions').replaceChildren(...sessions.map(sessionRow))
  $('no-sessions').hidden = sessions.length > 0
  $('links').replaceChildren(...config.providers.map((provider) => providerRow(provider, 'link')))
}

const words = {
  cookie: 'a cookie, which no script can read',
  bearer: 'a bearer token, which this page keeps until its tab is closed',
}

/** Creates an element with attributes. It inserts text as text, never as markup. */
function element(name, attributes, ...content) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...content)
  return made
}

const titleOf = (name) => config.providers.find((one) => one.name === name)?.title ?? name

function accountRow(account) {
  const { oauth_name: name, account_email: email } = account
  const row = element('li', {}, element('span', {}, element('b', {}, titleOf(name)), ` ${email}`))
  if (config.providers.some((provider) => provider.name === name)) {
    const label = `Unlink ${titleOf(name)}, ${email}`
    const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, 'Unlink')
    button.dataset.unlink = name
    button.addEventListener('click', () => unlink(account))
    row.append(button)
  }
  return row
}

function sessionRow(one) {
  const name = [one.browser, one.system].filter((part) => part !== null).join(', ') || 'Unknown browser'
  const used = new Date(one.last_used_at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
  const proof = one.level === 2 ? 'two factors' : { pwd: 'the password', provider: 'a provider' }[one.methods[0]]
  const text = ` last used ${used}${proof === undefined ? '' : `, signed in by ${proof}`}`
  const row = element('li', {}, element('span', {}, element('b', {}, name), text))
  if (one.is_current) {
    row.append(element('span', { class: 'badge good' }, 'this browser'))
    return row
  }
  const label = `Sign out ${name}, last used ${used}`
  const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, 'Sign out')
  button.dataset.end = one.id
  button.addEventListener('click', () => endSession(one, name))
  row.append(button)
  return row
}

function providerRow(provider, flow) {
  const title = titleOf(provider.name)
  const isLinked = session.accounts.some(({ oauth_name: name }) => name === provider.name)
  const text = flow === 'login' ? `Sign in with ${title}` : isLinked ? `Link another ${title} account` : `Link ${title}`
  const button = element('button', { type: 'button', class: 'second', id: `${flow}-${provider.name}` }, text)
  const note = session.accounts.map(({ id }) => id)
  button.addEventListener('click', () => attempt(() => client.leaveFor(provider, flow, note)))
  const obstacle = obstacleOf(provider, flow)
  if (obstacle === null) return element('li', {}, button)
  button.setAttribute('aria-describedby', `${button.id}-hint`)
  return element('li', {}, button, element('p', { class: 'hint', id: `${button.id}-hint` }, obstacle))
}

/** The settings of a provider decide to which page it returns. It should be this page. */
function obstacleOf({ name, backend, comesBack }, flow) {
  const here = location.origin + location.pathname
  const { transport } = config.backends.find((one) => one.name === backend) ?? {}
  const isBearer = flow === 'login' ? transport === 'bearer' : client.isBearer()
  if (comesBack[flow] === 'to this page' || (comesBack[flow] === 'by redirect' && !isBearer)) return null
  const [byPage, byRedirect] =
    flow === 'login' ? ['redirectUrl', 'redirects.success'] : ['redirectUrlAssociate', 'redirects.linked']
  return `You will not come back to this page: set providers.${name}.${isBearer ? byPage : byRedirect} to ${here}`
}

// ---- Messages -------------------------------------------------------------------------------------------------------

function say(text, isGood = true) {
  $('message').textContent = text
  $('message').className = isGood ? 'good' : 'bad'
}

/** Runs an action without a form, and shows its error. */
async function attempt(act) {
  try {
    await act()
    return true
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem
    if (problem.code === 'Unauthorized') await signedOut(problem.message)
    else say(problem.message, false)
    return false
  }
}

async function signedOut(text) {
  session = signedOutSession
  show()
  say(text, false)
  $('login-heading').focus()
}

/** Passes the fields of a form to `act`. Faults appear next to their fields, and the first one gets the focus. */
function onSubmit(id, act) {
  const form = $(id)
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (form.getAttribute('aria-busy') === 'true') return
    form.setAttribute('aria-busy', 'true')
    showFaults(form, {}, '')
    say('')
    try {
      await act(Object.fromEntries(new FormData(form)))
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem
      if (problem.code === 'Unauthorized') await signedOut(problem.message)
      else showFaults(form, problem.fields, problem.message)
    } finally {
      form.removeAttribute('aria-busy')
    }
  })
}

function showFaults(form, fields, message) {
  const rest = [message]
  for (const input of form.querySelectorAll('.field input, .field select')) {
    const fault = fields[input.name] ?? ''
    $(`${input.id}-fault`).textContent = fault
    if (fault === '') input.removeAttribute('aria-invalid')
    else input.setAttribute('aria-invalid', 'true')
  }
  for (const [name, fault] of Object.entries(fields)) if (!form.elements[name]) rest.push(fault)
  $(`${form.id}-fault`).textContent = rest.filter((text) => text !== '').join(' ')
  const first = form.querySelector('[aria-invalid]')
  if (first !== null) first.focus()
  else if (message !== '') form.querySelector('input').focus()
}

// ---- Actions --------------------------------------------------------------------------------------------------------

onSubmit('register', async (account) => {
  const { email } = await client.register(withOwnFields(account))
  $('register').reset()
  try {
    await client.logIn(chosenBackend(), { username: email, password: account.password })
  } catch (problem) {
    if (problem.code !== 'LOGIN_USER_NOT_VERIFIED') throw problem
    say(`Account created for ${email}. ${problem.message}`)
    $('login-username').value = email
    return $('verify-heading').focus()
  }
  await refresh()
  say(`Account created. You are signed in as ${email}.`)
  $('account-heading').focus()
})

onSubmit('login', async ({ backend: _, ...credentials }) => {
  await client.logIn(chosenBackend(), credentials)
  await refresh()
  $('login').reset()
  say('You are signed in.')
  $('account-heading').focus()
})

$('logout').addEventListener('click', () =>
  attempt(async () => {
    await client.logOut()
    await refresh()
    say('You are signed out.')
    $('login-heading').focus()
  }),
)

onSubmit('request-verification', async ({ email }) => {
  await client.requestVerification(email)
  say(`If ${email} belongs to an account that is not verified, a token is on its way.`)
  $('verify-token').focus()
})

onSubmit('verify', async ({ token }) => {
  const { email } = await client.verify(token.trim())
  $('verify').reset()
  await refresh()
  say(`${email} is verified.`)
  $(session.user === null ? 'login-heading' : 'account-heading').focus()
})

onSubmit('forgot', async ({ email }) => {
  await client.forgotPassword(email)
  say(`If there is an account for ${email}, a token is on its way.`)
  $('reset-token').focus()
})

onSubmit('reset', async ({ token, password }) => {
  await client.resetPassword(token.trim(), password)
  $('reset').reset()
  $('forgot').reset()
  say('The password is set, and every session has ended. Now sign in.')
  $('login-heading').focus()
})

onSubmit('change', async (fields) => {
  const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))
  if (changes.email === undefined && changes.password === undefined) {
    throw new Problem('', 'There is nothing to save yet.')
  }
  await client.update(changes)
  $('change').reset()
  await refresh()
  say('Saved.')
  $('account-heading').focus()
})

async function endSession(one, name) {
  const isDone = await attempt(async () => {
    await client.endSession(one)
    await refresh()
    say(`${name} is signed out.`)
  })
  if (isDone) $('sessions-heading').focus()
}

async function unlink(account) {
  const isDone = await attempt(async () => {
    await client.unlink(account)
    await refresh()
    say(`${titleOf(account.oauth_name)} is not linked any more.`)
  })
  if (isDone) $('accounts-heading').focus()
}

// ---- Page load ------------------------------------------------------------------------------------------------------

$('backends').replaceChildren(
  ...config.backends.map(({ name, transport }, index) => {
    const input = element('input', { type: 'radio', name: 'backend', value: name, id: `backend-${name}` })
    input.toggleAttribute('checked', index === preferredBackend())
    return element(
      'label',
      { class: 'choice' },
      input,
      element('span', {}, element('b', {}, name), `: ${words[transport]}`),
    )
  }),
)
$('providers').replaceChildren(...config.providers.map((provider) => providerRow(provider, 'login')))
document.querySelector('[data-needs=providers]').hidden = config.providers.length === 0
$('no-providers').hidden = config.providers.length > 0
$('docs').hidden = config.docs === null
$('docs').setAttribute('href', config.docs ?? '')

/** The backend that is chosen in the form. */
function chosenBackend() {
  const { backend } = Object.fromEntries(new FormData($('login')))
  return config.backends.find(({ name }) => name === backend)
}

/** Prefers a cookie backend, because scripts cannot read its cookie. */
function preferredBackend() {
  return Math.max(
    0,
    config.backends.findIndex(({ transport }) => transport === 'cookie'),
  )
}

addRequiredFields()
const { journey, problem } = await client.comeBack()
await attempt(refresh)
$('page').hidden = false
if (problem !== null) say(failureOf(problem, journey), false)
else if (journey !== null && session.user !== null) arrived(journey)

function failureOf({ code, message }, journey) {
  if (code !== 'Bad Request' || journey === null) return message
  const what = `${journey.flow === 'login' ? 'Signing in with' : 'Linking'} ${titleOf(journey.provider)}`
  return `${what} was cancelled, or refused there. Nothing has changed.`
}

/** The user may return with the "back" button of the browser, so the message follows the answer alone. */
function arrived({ provider, flow, note }) {
  const isNew = session.accounts.some(({ id, oauth_name: name }) => name === provider && !note.includes(id))
  if (flow === 'login') say(`You are signed in with ${titleOf(provider)}.`)
  else if (isNew) say(`${titleOf(provider)} is linked.`)
  $(flow === 'login' ? 'account-heading' : 'accounts-heading').focus()
}
