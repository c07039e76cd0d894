import { asUser, attempt, finish, onClick, onSubmit, signOutOnClick } from '../form.ts'
import { byId, data, element, filled, open, pageUrl, returnTo, say, texts, wayText } from '../page.ts'
import { codeOf, request } from '../requests.ts'
import { dateOf } from '../times.ts'
import { forgetToken, linkToken } from '../token.ts'

/** As `GET …/me/factors` answers. */
interface Factors {
  readonly totp: { readonly added_at: string } | null
  readonly recovery_codes: number
  readonly reset_at: string | null
  /** Whether the settings demand two factors, and this login was without them. */
  readonly is_required: boolean
}

interface Setup {
  readonly secret: string
  readonly address: string
  readonly qr_code: string
  readonly setup: string
}

const path = `${data.routes.users}/me/factors`
let setup = ''
/** Where the settings demanded the factor, and to where its page leads on. */
let wayOn: string | null = null
/** Of the message about a reset. It needs no login: whoever reads the mail may keep the factor. */
const token = linkToken()

onSubmit(({ code = '' }) =>
  asUserWithFactor(async () => {
    const json = { setup, code: code.replaceAll(' ', '') }
    showCodes(await request<Codes>('POST', `${path}/totp/confirm`, { json }), texts.titles.factorAdded)
  }),
)

onClick(byId('renew'), () =>
  asUserWithFactor(async () =>
    showCodes(await request<Codes>('POST', `${path}/recovery-codes`), texts.titles.codesRenewed),
  ),
)

onClick(byId('remove'), () =>
  asUserWithFactor(async () => {
    await request('DELETE', `${path}/totp`)
    finish(texts.titles.factorRemoved, texts.factorRemoved, wayBack())
  }),
)

onClick(byId('keep'), () => {
  const keep = async (): Promise<void> => {
    if (token === null) await request('DELETE', `${path}/reset`)
    else await request('POST', `${data.routes.users}/keep-factors`, { json: { token } })
    forgetToken()
    const change = element('a', { class: 'button', href: pageUrl('password') }, texts.setPassword)
    finish(texts.titles.factorsKept, texts.factorsKept, change)
  }
  return token === null ? asUserWithFactor(keep) : keep()
})

interface Codes {
  readonly recovery_codes: readonly string[]
}

/** The only time that the codes are shown. */
function showCodes({ recovery_codes: codes }: Codes, title: string): void {
  const list = element('ul', { class: 'codes' }, ...codes.map((code) => element('li', {}, element('code', {}, code))))
  finish(title, texts.keepCodes, list, wayBack())
}

function wayBack(): HTMLElement {
  return element('a', { class: 'button', href: wayOn ?? pageUrl('account') }, wayText(wayOn))
}

/** A login without the factor leads to a new one, which leads back here. */
function asUserWithFactor(act: () => Promise<void>): Promise<void> {
  return asUser(async () => {
    try {
      await act()
    } catch (problem) {
      if (codeOf(problem) !== 'SECOND_FACTOR_REQUIRED') throw problem
      open('sign-in', 'again', location.href)
    }
  }, location.href)
}

async function begin(): Promise<void> {
  const begun = await request<Setup>('POST', `${path}/totp`)
  setup = begun.setup
  // An image runs no script.
  byId<HTMLImageElement>('qr').src = `data:image/svg+xml,${encodeURIComponent(begun.qr_code)}`
  byId('secret').textContent = begun.secret.replace(/.{4}(?=.)/g, '$& ')
  byId<HTMLAnchorElement>('open-app').href = begun.address
  byId('adding').hidden = false
}

async function show(): Promise<void> {
  const { totp, recovery_codes: left, reset_at, is_required: isRequired } = await request<Factors>('GET', path)
  if (isRequired) {
    if (totp !== null) return open('sign-in', 'again', location.href)
    wayOn = returnTo
    byId('sign-out').hidden = false
    for (const link of document.querySelectorAll<HTMLElement>('#step .links')) link.hidden = true // it would lead back here
  }
  if (totp === null) await begin()
  else {
    byId('since').textContent = filled(texts.factorSince, { time: dateOf(totp.added_at) })
    byId('codes-left').textContent = filled(texts.codesLeft, { count: String(left) })
    byId('present').hidden = false
  }
  if (reset_at !== null) {
    byId('reset-at').textContent = filled(texts.factorResetAt, { time: dateOf(reset_at) })
    byId('keeping').hidden = false
  }
  byId('loading').hidden = true
  byId('step').hidden = false
  say(isRequired ? texts.factorRequired : '')
}

signOutOnClick(byId('sign-out'))

if (token === null) await attempt(() => asUserWithFactor(show))
else {
  byId('loading').hidden = true
  byId('keeping').hidden = false
  byId('step').hidden = false
}
