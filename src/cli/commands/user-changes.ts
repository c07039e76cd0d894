import { parseEmail } from '../../adapters/addresses/parse-email.ts'
import type { AnyChanges } from '../../application/accounts/account-changes.ts'
import { hasFactor } from '../../domain/factors.ts'
import { InvalidInput, Refusal } from '../../domain/refusal.ts'
import type { User } from '../../domain/user.ts'
import { parseJson } from '../../lib/json-text.ts'
import { isTime } from '../../lib/rfc3339.ts'
import { objectionOfOperator } from '../agreement.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { documentOf, type OneUser, withUser } from './one-user.ts'

const by = { type: 'command' } as const
const exampleTime = 'such as 2030-01-31T12:00:00Z'

/** The options of a command that may take away the rights of a superuser. */
interface Forcible extends OneUser {
  /** Also those of the last active one. */
  readonly force?: true
}

/** Lets a disabled user log in again. */
export function enableUser(options: OneUser): Promise<ExitCode> {
  return change(options, { isActive: true }, flagText('isActive', 'active'))
}

/** Disables a user, for good or until a time. This ends all sessions. Of a disabled user, it changes the time and the reason. */
export async function disableUser(
  options: Forcible & { readonly reason?: string; readonly until?: string },
): Promise<ExitCode> {
  const { reason, until: time } = options
  if (time !== undefined && !isTime(time)) {
    warn(`--until takes a time with its zone, ${exampleTime}`)
    return 2
  }
  const until = time === undefined ? undefined : new Date(time)
  const textOf = (user: User, former: User): string => {
    const isSame = former.inactiveUntil?.getTime() === user.inactiveUntil?.getTime()
    const isNew = former.isActive || !isSame || former.inactiveReason !== user.inactiveReason
    const noEnd = former.inactiveUntil === null ? '' : ', without an end,'
    const end = user.inactiveUntil === null ? noEnd : ` until ${user.inactiveUntil.toISOString()}`
    if (isNew) return `${user.email} is disabled${end} now`
    const hint = user.inactiveUntil === null ? '' : '. With --reason and without --until, it has no end'
    return `${user.email} was disabled${end} already: nothing changed${hint}`
  }
  try {
    return await change(options, { isActive: false, reason, until }, textOf)
  } catch (thrown) {
    if (!(thrown instanceof InvalidInput)) throw thrown
    warn(`--${thrown.field} ${thrown.problem}${thrown.field === 'until' ? `. It takes a time ${exampleTime}` : ''}`)
    return 2
  }
}

/** Marks the address of a user as verified, for an operator who knows that it belongs to the user. */
export function verifyUser(options: OneUser): Promise<ExitCode> {
  return change(options, { isVerified: true }, flagText('isVerified', 'verified'))
}

/** Takes the rights of a superuser from a user. */
export function demoteSuperuser(options: Forcible): Promise<ExitCode> {
  return change(options, { isSuperuser: false }, flagText('isSuperuser', 'no superuser'))
}

/** The text of a change of a flag to the state that `state` names. */
function flagText(flag: 'isActive' | 'isVerified' | 'isSuperuser', state: string) {
  return (user: User, former: User): string =>
    user[flag] === former[flag]
      ? `${user.email} was ${state} already: nothing changed`
      : `${user.email} is ${state} now`
}

/** Gives a user another address, which is unverified. */
export async function setEmail(options: OneUser & { readonly address: string }): Promise<ExitCode> {
  const parsed = parseEmail(options.address)
  if ('objection' in parsed) {
    warn(`the new address: ${parsed.objection}`)
    return 2
  }
  const { email } = parsed
  try {
    const textOf = (user: User, former: User) => `${former.email} is ${user.email} now`
    return await change(options, { email }, textOf, ({ isVerified }) => {
      if (!isVerified) remark('The address is not verified. If you know that it belongs to the user: user verify')
    })
  } catch (thrown) {
    if (thrown instanceof InvalidInput) {
      warn(`the new address: ${thrown.problem}`)
      return 2
    }
    if (!(thrown instanceof Refusal && thrown.code === 'UPDATE_USER_EMAIL_ALREADY_EXISTS')) throw thrown
    warn('another user has this address')
    return 1
  }
}

/**
 * Sets a field of a user that the deployer declares. Text is JSON for a field that is no text.
 *
 * @param options.value absent: the user has no value any more
 */
export async function setField(
  options: OneUser & { readonly field: string; readonly value?: string },
): Promise<ExitCode> {
  const { field, value } = options
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const declared = users.fieldRules.fields.get(field)
    if (declared === undefined) {
      warn(`users.fields declares no field ${field}`)
      return 2
    }
    const isText = declared.type === 'string' || declared.type === 'date'
    const given = value === undefined || isText ? (value ?? null) : parsedOr(value)
    try {
      const user = await users.changeAccount.execute({ by, target, changes: { fields: { [field]: given } }, requestId })
      const { shown, hidden } = user.fields
      const stored = { ...shown, ...hidden }[field]
      await printed(
        options,
        `${field} of ${user.email} is ${JSON.stringify(stored)} now (${user.id})`,
        documentOf(user),
      )
      return 0
    } catch (thrown) {
      if (thrown instanceof InvalidInput) {
        warn(`${field} ${thrown.problem}`)
        return 2
      }
      if (!(thrown instanceof Refusal && thrown.code === 'UPDATE_USER_FIELD_ALREADY_EXISTS')) throw thrown
      warn(`another user has this value of ${field}`)
      return 1
    }
  })
}

function parsedOr(text: string): unknown {
  const parsed = parseJson(text)
  return 'value' in parsed ? parsed.value : text
}

async function change(
  options: Forcible,
  changes: AnyChanges,
  textOf: (user: User, former: User) => string,
  then: (user: User) => void = () => undefined,
): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const isForced = options.force === true
    const user = await users.changeAccount.execute({ by, target, changes, isForced, requestId })
    await printed(options, `${textOf(user, target)} (${user.id})`, documentOf(user))
    then(user)
    return 0
  })
}

/** Ends every login of a user, and leaves the account usable. */
export async function endSessions(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    await users.logOutEverywhere.execute({ by, target, requestId })
    await printed(options, `ended all logins of ${target.email} (${target.id})`, documentOf(target))
    return 0
  })
}

/** Deletes a user, unless a handler of the deployer objects. Asks before. */
export async function deleteUser(options: Forcible & { readonly yes?: true }): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const { email, id, oauthAccounts } = target
    const links = oauthAccounts.map(({ provider }) => provider).join(', ')
    const lost = `the account, its password, all logins${links === '' ? '' : ` and the links to ${links}`}`
    const objection = await objectionOfOperator(`This deletes ${email} (${id}) for good: ${lost}`, options)
    if (objection !== null) return objection
    await users.deleteUser({ target, requestId, isForced: options.force === true }, warn)
    await printed(options, `deleted ${email} (${id})`, documentOf(target))
    return 0
  })
}

/** Resets the second factors of a user, after the delay of the settings or at once. Asks before. */
export async function resetFactors(options: OneUser & { readonly now?: true; readonly yes?: true }): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const { email, id } = target
    if (!hasFactor(target)) {
      warn(`${email} has no second factor`)
      return 1
    }
    const when = options.now ? 'Now' : 'After the delay'
    const question = `${when} ${email} (${id}) logs in without the second factor. Be sure that the owner has asked for it`
    const objection = await objectionOfOperator(question, options)
    if (objection !== null) return objection
    const resetAt = options.now ? null : await users.resetFactors.execute({ by, target, requestId })
    if (resetAt === null) await users.removeFactors.execute({ by, target, which: 'all', requestId })
    const isOver = resetAt === null || resetAt <= new Date()
    const text = isOver
      ? `${email} has no second factor now (${id})`
      : `${email} has no second factor after ${resetAt.toISOString()} (${id}). To stop this: user factors keep`
    await printed(options, text, { ...documentOf(target), factorsResetAt: resetAt })
    return 0
  })
}

/** Stops the reset of second factors. */
export async function keepFactors(options: OneUser): Promise<ExitCode> {
  return await withUser(options, async ({ user: target, users, requestId }) => {
    const { email, id } = target
    if (target.factors.resetAt === null) {
      warn(`no reset of the second factors of ${email} runs`)
      return 1
    }
    await users.keepFactors.execute({ by, target, requestId })
    await printed(options, `${email} keeps the second factor (${id})`, documentOf(target))
    return 0
  })
}

/** Prints a link with which the user can set a new password. */
export async function printResetLink(options: OneUser): Promise<ExitCode> {
  return await withUser({ ...options, withoutSecret: false }, async ({ user, users }) => {
    const issued = await users.resetLink(user, users.publicUrl)
    if (issued === null) {
      warn(`${user.email} is disabled: enable the account first`)
      return 1
    }
    const { link, expiresAt } = issued
    await printed(options, link, { link, expiresAt })
    if (users.isUrlGuessed && link.startsWith(users.publicUrl)) {
      warn(
        `http.publicUrl is not set, so the link leads to ${users.publicUrl}: run the command with the environment of the service`,
      )
    }
    remark(
      `Works once, until ${expiresAt.toISOString()}. It gives the account to anybody who has it: show it to ${user.email} only`,
    )
    return 0
  })
}
