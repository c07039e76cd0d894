import { asUser, attempt, onClick, sendLinkOnClick } from '../form.ts'
import { byId, data, element, filled, open, parameters, say, texts } from '../page.ts'
import { codeOf, type LinkedAccount, leaveFor, problemOf, request, signedIn } from '../requests.ts'
import { showSessions } from '../sessions.ts'

const { routes, providers } = data
const here = location.origin + location.pathname
const labelOf = (name: string): string => providers.find((one) => one.name === name)?.label ?? name

async function showAccounts(): Promise<void> {
  const accounts = await request<readonly LinkedAccount[]>('GET', `${routes.users}/me/oauth-accounts`)
  byId('linked').hidden = accounts.length === 0 && providers.every(({ associate }) => associate === null)
  byId('none-linked').hidden = accounts.length > 0
  byId('accounts').replaceChildren(...accounts.map(rowOf))
}

function rowOf({ id, oauth_name: name, account_email: email }: LinkedAccount): HTMLElement {
  const provider = labelOf(name)
  const row = element('li', {}, element('span', {}, element('b', {}, provider), ` ${email}`))
  const prefix = providers.find((one) => one.name === name)?.associate ?? null
  if (prefix !== null) {
    const label = filled(texts.unlinkLabel, { provider, email })
    const button = element('button', { type: 'button', class: 'quiet', 'aria-label': label }, texts.unlink)
    onClick(button, () =>
      asUser(async () => {
        await request('DELETE', `${prefix}/${id}`)
        await showAccounts()
        say(filled(texts.unlinked, { provider }))
        byId('title').focus()
      }),
    )
    row.append(button)
  }
  return row
}

onClick(byId('sign-out'), async () => {
  await request('POST', `${routes.login}/logout`).catch((problem: unknown) => {
    if (codeOf(problem) !== 'Unauthorized') throw problem
  })
  open('sign-in', 'signedOut')
})

onClick(byId('everywhere'), () =>
  asUser(async () => {
    await request('DELETE', `${routes.users}/me/sessions`)
    open('sign-in', 'signedOutEverywhere')
  }),
)

for (const { name, associate } of providers) {
  if (associate !== null) onClick(byId(`link-${name}`), () => asUser(() => leaveFor(associate, here)))
}

async function show(): Promise<void> {
  const user = await signedIn()
  if (user === null) return location.replace(`${data.base}/account/sign-in${location.search}`)
  const { email, is_verified: isVerified } = user
  byId('email').textContent = email
  byId('state').textContent = isVerified ? texts.verified : texts.unverified
  byId('state').classList.toggle('good', isVerified)
  const resend = byId('resend')
  resend.hidden = isVerified || routes.verify === null
  sendLinkOnClick(resend, email)
  await Promise.all([showAccounts(), showSessions()])
  if (parameters.has('error')) say(problemOf(parameters.get('error')).message, 'bad')
  byId('loading').hidden = true
  byId('step').hidden = false
}

await attempt(() => asUser(show))
