import type { Details, Found } from '../../browser/answers.ts'
import { ask } from './ask.ts'
import { button, element, filled, isOwn, leave, say, site, texts, time, zoneAt } from './page.ts'
import { Problem, person, request } from './requests.ts'

type Name = keyof typeof texts.acts

interface Act {
  readonly name: Name
  readonly isDangerous?: boolean
  readonly fields?: Parameters<typeof ask>[0]['fields']
  /** Whether the address has to be typed. */
  readonly isTyped?: boolean
  readonly send: (values: Readonly<Record<string, string>>) => Promise<unknown>
}

type Group = keyof typeof texts.groups

const groupOf: Readonly<Record<Name, Group>> = {
  invite: 'mail',
  sendReset: 'mail',
  sendVerification: 'mail',
  verify: 'mail',
  changeAddress: 'mail',
  activate: 'access',
  endLogins: 'access',
  resetFactors: 'access',
  keepFactors: 'access',
  removeFactors: 'access',
  deactivate: 'access',
  redeactivate: 'access',
  makeSuperuser: 'rights',
  unmakeSuperuser: 'rights',
  delete: 'rights',
}

/** The buttons for everything that can be done with a person, in groups. Each asks first, and names the person. */
export function actsOn(user: Found, details: Details, again: () => Promise<void>): readonly HTMLElement[] {
  const groups = Map.groupBy(actsFor(user, details), ({ name }) => groupOf[name])
  return [...groups].map(([group, acts]) => {
    const buttons = acts.map((act) =>
      button(texts.acts[act.name], act.isDangerous ? 'quiet danger' : 'quiet', () => perform(act, user, again)),
    )
    const id = `acts-${group}`
    const heading = element('h3', { id }, texts.groups[group])
    const row = element('div', { class: 'acts' }, ...buttons)
    return element('div', { role: 'group', 'aria-labelledby': id }, heading, row)
  })
}

/** The acts after which a superuser can do no more here, if they are on the own account. */
const ending: readonly Name[] = ['deactivate', 'endLogins', 'unmakeSuperuser', 'delete']

async function perform(act: Act, { id, email }: Found, again: () => Promise<void>): Promise<void> {
  const { name, isDangerous, fields, isTyped = false, send } = act
  const warning = isOwn(id) && ending.includes(name) ? ` ${texts.ask.own}` : ''
  const question = {
    text: filled(texts.ask[name], { email, hours: String(site.factorResetHours) }) + warning,
    button: texts.acts[name].replace(' …', ''),
    ...(isDangerous && { isDangerous }),
    ...(fields && { fields }),
    ...(isTyped && { typed: email }),
  }
  const asked = await ask(question, send)
  if (asked === null) return
  const isSent = name === 'changeAddress' && asked.values.link === 'yes'
  const done = filled(isSent ? texts.done.addressAndLink : texts.done[name], { email })
  if (name === 'delete') {
    leave(done)
    location.hash = '#/people'
    return
  }
  await again()
  say(done)
}

/** The value of a field for a time, in the time zone of the person at the screen. */
function localTime(time: string | null): string {
  if (time === null) return ''
  const at = new Date(time)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function actsFor(user: Found, { factors, is_invitable, deactivation, limits, causes }: Details): readonly Act[] {
  const { is_active: isActive, is_verified: isVerified, is_superuser: isSuperuser, email } = user
  const path = person(user.id)
  const change = (json: object) => request('PATCH', path, { json })
  // The invitation of somebody without a password verifies the address, too.
  const hasWayIn = causes.every(({ code }) => code !== 'no_way_in')
  const hasFactor = factors.totp !== null || factors.passkeys.length > 0
  /** The route answers the same if it sends nothing, because it is that of everybody. */
  const sendLink = async (purpose: string, route: string): Promise<unknown> => {
    const reached = limits.find(
      (one) =>
        one.purpose === purpose && one.of === 'strangers' && one.is_reached && Date.parse(one.until) > Date.now(),
    )
    if (reached !== undefined) {
      const { noMoreLinks, resetLink } = texts.ask
      const text = filled(noMoreLinks, { time: time(reached.until) })
      throw new Problem(0, '', purpose === 'reset_password' ? `${text} ${resetLink}` : text)
    }
    return await request('POST', route, { json: { email } })
  }
  const sendReset: Act = {
    name: 'sendReset',
    send: () => sendLink('reset_password', `${site.resetPassword}/forgot-password`),
  }
  const sendVerification: Act = {
    name: 'sendVerification',
    send: () => sendLink('verify_email', `${site.verify}/request-verify-token`),
  }
  const deactivate: Act = {
    name: isActive ? 'deactivate' : 'redeactivate',
    isDangerous: true,
    fields: {
      // Only a reason makes a present deactivation one without an end.
      reason: { label: texts.ask.reason, value: deactivation?.reason ?? '', isRequired: !isActive },
      until: {
        label: filled(texts.ask.until, { zone: zoneAt(new Date()) }),
        type: 'datetime-local',
        value: localTime(deactivation?.until ?? null),
      },
    },
    send: ({ reason = '', until = '' }) =>
      change({
        is_active: false,
        ...(reason !== '' && { reason }),
        ...(until !== '' && { until: new Date(until).toISOString() }),
      }),
  }
  /** The link that helps at the new address: the invitation for somebody without a password. */
  const linkThere: Act['send'] | null = !isActive
    ? null
    : is_invitable && site.canInvite
      ? () => request('POST', `${path}/invite`)
      : site.verify === null || !hasWayIn
        ? null
        : ({ email: to }) => request('POST', `${site.verify}/request-verify-token`, { json: { email: to } })
  const changeAddress: Act = {
    name: 'changeAddress',
    fields: {
      email: { label: texts.add.email, type: 'email', value: email, isRequired: true },
      ...(linkThere !== null && { link: { label: texts.ask.linkThere, type: 'checkbox', value: 'yes' } }),
    },
    async send(values) {
      if (values.email === email) throw new Problem(0, '', texts.ask.sameAddress)
      await change({ email: values.email })
      // The address is changed all the same, and the page of the person has a button for the link.
      if (values.link === 'yes') await linkThere?.(values).catch(() => undefined)
    },
  }
  const factorReset = `${site.factors}/${encodeURIComponent(user.id)}/factors/reset`
  const resetFactors: Act = {
    name: site.factorResetHours === 0 ? 'removeFactors' : 'resetFactors',
    isDangerous: true,
    send: () => request('POST', factorReset),
  }
  return [
    ...(isActive ? [] : [{ name: 'activate', send: () => change({ is_active: true }) } as const]),
    ...(site.canInvite && isActive && is_invitable
      ? [{ name: 'invite', send: () => request('POST', `${path}/invite`) } as const]
      : []),
    ...(site.resetPassword !== null && isActive && (hasWayIn || !site.canInvite) ? [sendReset] : []),
    ...(site.verify !== null && isActive && !isVerified && hasWayIn ? [sendVerification] : []),
    ...(isVerified ? [] : [{ name: 'verify', send: () => change({ is_verified: true }) } as const]),
    changeAddress,
    { name: 'endLogins', send: () => request('DELETE', `${path}/sessions`) },
    ...(hasFactor && site.factors !== null && factors.reset_at === null ? [resetFactors] : []),
    ...(factors.reset_at !== null && site.factors !== null
      ? [{ name: 'keepFactors', send: () => request('DELETE', factorReset) } as const]
      : []),
    isSuperuser
      ? { name: 'unmakeSuperuser', isDangerous: true, send: () => change({ is_superuser: false }) }
      : { name: 'makeSuperuser', isDangerous: true, send: () => change({ is_superuser: true }) },
    deactivate,
    { name: 'delete', isDangerous: true, isTyped: true, send: () => request('DELETE', path) },
  ]
}
