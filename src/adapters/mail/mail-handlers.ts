import type { EventHandlers, HandlerCall } from '../../application/ports/event-handlers.ts'
import type { Mailer, MailImage, Sender } from '../../application/ports/mailer.ts'
import { type Email, emailKey } from '../../domain/email.ts'
import type { LinkChange, UserChanges } from '../../domain/events.ts'
import type { RequestPurpose, TokenPurpose } from '../../domain/one-time-token.ts'
import type { UserView } from '../../domain/user.ts'
import { textOn } from '../../lib/text-on.ts'
import type { MessageFields, MessageName } from './message-fields.ts'
import type { Templates } from './templates.ts'

/** The purposes whose tokens are mailed as links to pages of their own. */
export type LinkPurpose = Exclude<TokenPurpose, 'change_email'>

interface Needs {
  readonly mailer: Mailer
  readonly templates: Templates
  readonly from: Sender
  readonly replyTo: Email | null
  /** The name of the service in messages. */
  readonly service: string
  /** The colour of buttons, such as `#245a8d`. */
  readonly color: string | null
  readonly logo: MailImage | null
  /** The address for questions. */
  readonly support: Email | null
  /** The address of the page that takes the token. */
  readonly page: (purpose: LinkPurpose) => string
  /** The name of a provider for people, such as `GitHub`. */
  readonly providerTitle: (name: string) => string
  /** The lifetimes of tokens, in seconds. */
  readonly lifetimes: Readonly<Record<RequestPurpose, number>>
  /** The language of a message if no language of its reader has templates. */
  readonly language: string
  readonly isOn: Readonly<Record<MessageName, boolean>>
}

interface Outgoing {
  readonly name: MessageName
  readonly to: Email
  readonly fields: MessageFields
}

/** Sends the messages to users. A failed attempt sends all messages of its event again, with the same `Message-ID`. */
export function mailHandlers(needs: Needs): EventHandlers {
  const { mailer, templates, from, replyTo, service, color, logo, support, language, isOn } = needs
  const design = { logo: logo && `cid:${logo.cid}`, color, onColor: color && textOn(color) }

  async function send({ name, to, fields }: Outgoing, { eventId, languages }: HandlerCall['context']): Promise<void> {
    const common = { service, email: to, support, ...design }
    const rendered = templates.render(name, languages, language, { ...common, ...fields })
    // A layout of the deployer may show no logo.
    const images = logo !== null && rendered.html.includes(logo.cid) ? [logo] : []
    await mailer.send({ ...rendered, images, id: `${eventId}.${name}`, from, replyTo, to })
  }

  return {
    handles(type) {
      switch (type) {
        case 'verification_requested':
          return isOn.verify
        case 'reset_requested':
          return isOn.reset
        case 'invited':
          return isOn.invitation
        case 'password_reset':
          return isOn.passwordChanged
        case 'updated':
          return messagesOfChanges.some((name) => isOn[name])
        case 'factor_reset_started':
          return isOn.secondFactorReset
        case 'second_factor_refused':
          return isOn.secondFactorRefused
        case 'new_sign_in':
          return isOn.newSignIn
        case 'inactive_sign_in':
          return isOn.inactiveSignIn
        case 'deleted':
          return isOn.accountDeleted
        default:
          return false
      }
    },

    async call(call) {
      for (const message of messagesOf(call, needs)) if (isOn[message.name]) await send(message, call.context)
    },
  }
}

/**
 * The messages of an event. Messages about a change or a sign-in go only to a verified address. Otherwise anybody could
 * register the address of another person, and fill that person's mailbox by changing the account again and again.
 */
function messagesOf(call: HandlerCall, needs: Needs): Outgoing[] {
  const { user, context } = call
  const to = user.email
  switch (call.type) {
    case 'verification_requested':
      return [{ name: 'verify', to, fields: linkFields('verify_email', call.token, needs) }]
    case 'reset_requested':
      return [{ name: 'reset', to, fields: linkFields('reset_password', call.token, needs) }]
    case 'invited':
      return [{ name: 'invitation', to, fields: { link: linkOf('invite', call.token, needs), time: call.expiresAt } }]
    case 'password_reset':
      return [{ name: 'passwordChanged', to, fields: { removed: false } }]
    case 'updated':
      return wasVerified(user, call.changes) || isRemovalForOwner(call.changes, context)
        ? messagesOfChange(to, call.changes, needs)
        : []
    // Nobody but an operator starts a reset, so it cannot fill the mailbox of a stranger.
    case 'factor_reset_started': {
      const link = linkOf('keep_factors', call.token, needs)
      return [{ name: 'secondFactorReset', to, fields: { link, time: call.removesAt } }]
    }
    case 'second_factor_refused':
      return user.isVerified ? [{ name: 'secondFactorRefused', to, fields: { ...call.traits, time: context.at } }] : []
    case 'new_sign_in':
      return user.isVerified ? [{ name: 'newSignIn', to, fields: { ...call.traits, time: context.at } }] : []
    case 'inactive_sign_in':
      return user.isVerified ? [{ name: 'inactiveSignIn', to, fields: { time: context.at } }] : []
    case 'deleted':
      return user.isVerified && isOwn(call) ? [{ name: 'accountDeleted', to, fields: {} }] : []
    default:
      return []
  }
}

/** Whether the user is the actor. A superuser may have reasons to delete an account without a message. */
function isOwn({ user, context: { by } }: HandlerCall): boolean {
  return (by.type === 'user' || by.type === 'superuser') && by.id === user.id
}

/** The messages about a change of an account. */
const messagesOfChanges = [
  'passwordChanged',
  'addressChanged',
  'accountLinked',
  'accountUnlinked',
  'secondFactorChanged',
] as const satisfies readonly MessageName[]

/** With this number of recovery codes, users are asked to replace them. */
const fewCodes = 2

function messagesOfChange(to: Email, changes: UserChanges, needs: Needs): Outgoing[] {
  const { previousEmail, password, passwordRemoved, oauthLinked, oauthUnlinked } = changes
  const messages: Outgoing[] = []
  if (previousEmail !== undefined && emailKey(previousEmail) !== emailKey(to)) {
    messages.push({ name: 'addressChanged', to: previousEmail, fields: {} })
  }
  const isStillVerified = changes.isVerified !== false
  if ((password || passwordRemoved) && isStillVerified) {
    messages.push({ name: 'passwordChanged', to, fields: { removed: passwordRemoved ?? false } })
  }
  if (oauthLinked) messages.push({ name: 'accountLinked', to, fields: accountFields(oauthLinked, needs) })
  if (oauthUnlinked) messages.push({ name: 'accountUnlinked', to, fields: accountFields(oauthUnlinked, needs) })
  const factorFields = fieldsOfFactors(changes)
  if (factorFields !== null) messages.push({ name: 'secondFactorChanged', to, fields: factorFields })
  return messages
}

function fieldsOfFactors(changes: UserChanges): MessageFields | null {
  const { factorAdded, factorRemoved, recoveryCodesRenewed, recoveryCodeUsed: left = null, factorsKept } = changes
  const copied = changes.passkeyCounterWentBack ?? false
  const added = factorAdded !== undefined
  const removed = factorRemoved !== undefined
  const renewed = recoveryCodesRenewed ?? false
  const used = left !== null
  const kept = factorsKept ?? false
  if (!added && !removed && !renewed && !used && !kept && !copied) return null
  const which = factorAdded ?? factorRemoved
  const kinds = { app: which === 'totp', passkey: which === 'passkey', all: which === 'all' }
  return { added, removed, ...kinds, renewed, used, left, few: used && left <= fewCodes, kept, copied }
}

/** Whether the address before the change was verified. A new address withdraws the verification. */
function wasVerified(user: UserView, { isVerified }: UserChanges): boolean {
  return isVerified === undefined ? user.isVerified : !isVerified
}

/** No login can remove factors in this way, so it cannot fill the mailbox of a stranger: a reset by mail, a provider or an operator did it. */
function isRemovalForOwner({ factorRemoved }: UserChanges, { by }: HandlerCall['context']): boolean {
  return factorRemoved === 'all' && !('sid' in by && by.sid !== null)
}

/** The token is in the fragment, which browsers send to no server and in no `Referer`. */
function linkOf(purpose: LinkPurpose, token: string, { page }: Needs): string {
  return `${page(purpose)}#token=${token}`
}

function linkFields(purpose: RequestPurpose, token: string, needs: Needs): MessageFields {
  const { lifetimes } = needs
  const minutes = Math.max(1, Math.floor(lifetimes[purpose] / 60))
  const hours = Math.floor(minutes / 60)
  const inHours = hours >= 2
  return { link: linkOf(purpose, token, needs), hours: inHours ? hours : null, minutes: inHours ? null : minutes }
}

function accountFields({ provider, accountEmail }: LinkChange, { providerTitle }: Needs): MessageFields {
  return { provider: providerTitle(provider), account: accountEmail }
}
