import { typedCode } from '../../../../../../lib/typed-code.ts'
import type { Codes, Factors, Passkey, Setup } from '../../../browser/answers.ts'
import { asUser, attempt, finish, onClick, onSecondClick, onSubmit, signOutOnClick } from '../form.ts'
import { byId, data, element, filled, open, pageUrl, retitle, returnTo, say, texts, wayText } from '../page.ts'
import { addPasskey, hasPasskeys, passkeyRow, removePasskey, renamePasskey } from '../passkeys.ts'
import { codeList } from '../recovery-codes.ts'
import { codeOf, Problem, request } from '../requests.ts'
import { dateOf } from '../times.ts'
import { forgetToken, leaveOnlyWayOn, linkToken } from '../token.ts'

const path = `${data.routes.users}/me/factors`
let setup = ''
/** Where the settings demanded the factor, and to where its page leads on. */
let wayOn: string | null = null
/** Of the message about a reset. It needs no login: whoever reads the mail may keep the factor. */
const token = linkToken()

onSubmit(({ code = '' }) =>
  asUserWithFactor(async () => {
    const json = { setup, code: typedCode(code) }
    const codes = await request<Codes>('POST', `${path}/totp/confirm`, { json }).catch((problem: unknown) => {
      // The message for all other codes advises to sign in again.
      throw codeOf(problem) === 'SECOND_FACTOR_REFUSED' ? new Problem('', '', { code: texts.appCodeRefused }) : problem
    })
    if (codes.recovery_codes.length > 0) showCodes(codes, texts.titles.factorAdded, texts.codeIsUsed)
    else finish(texts.titles.factorAdded, texts.factorBeside, wayBack())
  }),
)

onClick(byId('renew'), () =>
  asUserWithFactor(async () =>
    showCodes(await request<Codes>('POST', `${path}/recovery-codes`), texts.titles.codesRenewed),
  ),
)

onSecondClick(byId('remove'), {
  question: texts.reallyRemove,
  act() {
    void attempt(() =>
      asUserWithFactor(async () => {
        await request('DELETE', `${path}/totp`)
        finish(texts.titles.factorRemoved, texts.factorRemoved, wayBack())
      }),
    )
  },
})

onClick(byId('begin'), () =>
  asUserWithFactor(async () => {
    await begin()
    byId('begin').hidden = true
  }),
)

if (hasPasskeys) {
  onClick(byId('add-passkey'), () =>
    asUserWithFactor(async () => {
      const codes = await addPasskey()
      if (codes.recovery_codes.length > 0) return showCodes(codes, texts.titles.factorAdded)
      await show()
      say(texts.passkeyAdded)
    }),
  )
}

onClick(byId('keep'), () => {
  const keep = async (): Promise<void> => {
    if (token === null) await request('DELETE', `${path}/reset`)
    else await redeem(token)
    const change = element('a', { class: 'button', href: pageUrl('password') }, texts.choosePassword)
    finish(texts.titles.factorsKept, texts.factorsKept, change)
  }
  return token === null ? asUserWithFactor(keep) : keep()
})

/** Nobody can tell a dead link before it is used. */
async function redeem(token: string): Promise<void> {
  try {
    await request('POST', `${data.routes.users}/keep-factors`, { json: { token } })
  } catch (problem) {
    if (codeOf(problem) === 'FACTOR_RESET_BAD_TOKEN') {
      leaveOnlyWayOn('keeping')
      retitle(texts.titles.deadLink)
      forgetToken()
    }
    throw problem
  }
  forgetToken()
}

/** The only time that the codes are shown. */
function showCodes({ recovery_codes: codes }: Codes, title: string, hint = ''): void {
  const hints = hint === '' ? [] : [element('p', { class: 'hint' }, hint)]
  // No message: the one about a copy would replace it.
  finish(title, '', element('p', {}, texts.keepCodes), ...codeList(codes), ...hints, wayBack(texts.codesKept))
}

function wayBack(text = wayText(wayOn)): HTMLElement {
  return element('a', { class: 'button', href: wayOn ?? pageUrl('account') }, text)
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

function showPasskeys(passkeys: readonly Passkey[]): void {
  const rows = passkeys.map((one) =>
    passkeyRow(one, {
      rename: (name) => void attempt(() => asUserWithFactor(() => rename(one, name))),
      remove: () => void attempt(() => asUserWithFactor(() => remove(one))),
    }),
  )
  byId('passkeys').replaceChildren(...rows)
  byId('passkey-section').hidden = false
}

async function rename({ id }: Passkey, name: string): Promise<void> {
  await renamePasskey(id, name)
  await show()
  say(texts.passkeyRenamed)
}

async function remove({ id }: Passkey): Promise<void> {
  await removePasskey(id)
  await show()
  say(texts.passkeyRemoved)
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
  const {
    totp,
    passkeys,
    recovery_codes: left,
    reset_at,
    is_required: isRequired,
  } = await request<Factors>('GET', path)
  if (isRequired) {
    if (totp !== null || passkeys.length > 0) return open('sign-in', 'again', location.href)
    wayOn = returnTo
    byId('sign-out').hidden = false
    for (const link of document.querySelectorAll<HTMLElement>('#step .links')) link.hidden = true // it would lead back here
  }
  const hasFactor = totp !== null || passkeys.length > 0
  if (!hasFactor) await begin()
  if (totp !== null) byId('since').textContent = filled(texts.factorSince, { time: dateOf(totp.added_at) })
  byId('present').hidden = totp === null
  byId('codes-left').textContent = filled(texts.codesLeft, { count: String(left) })
  byId('recovery').hidden = !hasFactor
  byId('begin').hidden = totp !== null || !hasFactor
  if (hasPasskeys) showPasskeys(passkeys)
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
