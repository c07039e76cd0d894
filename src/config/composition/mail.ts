import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { addressIn, parseSender } from '../../adapters/addresses/parse-sender.ts'
import { type LinkPurpose, mailHandlers } from '../../adapters/mail/mail-handlers.ts'
import { type MailUrl, parseMailUrl } from '../../adapters/mail/mail-url.ts'
import { memoryMailbox } from '../../adapters/mail/mailbox.ts'
import { messageNames } from '../../adapters/mail/message-fields.ts'
import { measuredMailer } from '../../adapters/metrics/measured.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { Shares } from '../../adapters/stores/store-backend.ts'
import type { EventHandlers } from '../../application/ports/event-handlers.ts'
import type { Mailbox, Mailer, MailImage, Sender } from '../../application/ports/mailer.ts'
import type { Email } from '../../domain/email.ts'
import { brandOf } from '../../lib/brand.ts'
import { titleOf } from '../plugins/providers.ts'
import { settingsFault } from '../settings/schema/fault.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { defaultTenant } from '../settings/tenants.ts'
import { lifetimesOf } from './ports.ts'

export interface MailNeeds {
  /** `null` for the tenant `default`. */
  readonly tenant: string | null
  readonly settings: Settings
  readonly shares: Shares
  readonly clock: () => Date
  readonly metrics: Metrics | null
  /** Whether the process shows a mailbox at `/try`. */
  readonly showsMailbox: boolean
  /** The address for browsers, without a final slash. */
  readonly publicUrl: string
}

interface OpenMail {
  readonly eventHandlers: EventHandlers
  /** The messages that are kept for development; `null` where messages are sent. */
  readonly mailbox: Mailbox | null
  close(): Promise<void>
}

/** Opens the messages to users; `null` where mail is off. */
export async function openMail(needs: MailNeeds): Promise<OpenMail | null> {
  const { settings, publicUrl } = needs
  const { mail, pages } = settings
  const url = mailUrlOf(settings)
  if (url === null) return null
  const templates = await templatesOf(settings)
  const { mailer, mailbox = null, close } = url.kind === 'mailbox' ? openMailbox(needs) : await openMailer(needs, url)
  const from = senderOf(settings, publicUrl)
  const eventHandlers = mailHandlers({
    mailer: measuredMailer(mailer, needs.metrics),
    templates,
    from,
    replyTo: replyToOf(settings),
    support: contactOf(settings),
    service: brandOf(pages.name ?? from.name, new URL(publicUrl)),
    color: pages.color,
    logo: await logoOf(pages.logo),
    page: (purpose) => pageFor(purpose, settings, publicUrl),
    providerTitle: (name) => settings.providers[name]?.label ?? titleOf(name),
    lifetimes: lifetimesOf(settings),
    language: mail.language,
    isOn: { ...mail.messages, accountDeleted: mail.messages.accountDeleted && settings.users.selfDeletion },
  })
  return { eventHandlers, mailbox, close }
}

/** The address of the page that takes the token. The account pages are the default. */
export function pageFor(purpose: LinkPurpose, { mail }: Pick<Settings, 'mail'>, publicUrl: string): string {
  const { verify, reset, keepFactors } = mail.links
  switch (purpose) {
    case 'verify_email':
      return verify ?? `${publicUrl}/account/verify`
    case 'reset_password':
    case 'invite':
      return reset ?? `${publicUrl}/account/reset`
    case 'keep_factors':
      return keepFactors ?? `${publicUrl}/account/factors`
  }
}

/** `null` where mail is off. The rules of the settings have refused an address with an objection. */
export function mailUrlOf({ mail }: Pick<Settings, 'mail'>): Exclude<MailUrl, { kind: 'off' }> | null {
  const url = parseMailUrl(mail.url)
  return 'objection' in url || url.kind === 'off' ? null : url
}

interface OpenMailer {
  readonly mailer: Mailer
  readonly mailbox?: Mailbox
  close(): Promise<void>
}

/** Tenants with the same server share its connections, because servers limit them for each account. */
export async function openMailer(
  { settings: { mail }, shares }: Pick<MailNeeds, 'settings' | 'shares'>,
  url: Exclude<MailUrl, { kind: 'mailbox' | 'off' }>,
): Promise<OpenMailer> {
  if (url.kind === 'file') {
    const { fileMailer } = await import('../../adapters/mail/file.ts')
    return { mailer: fileMailer(url.folder), close: async () => undefined }
  }
  const { smtpMailer } = await import('../../adapters/mail/smtp.ts')
  const leased = shares.lease(
    `mail ${JSON.stringify([mail.url, mail.requireTls, mail.ehlo])}`,
    () => smtpMailer({ server: url, requiresTls: mail.requireTls, ehlo: mail.ehlo, processes: shares.processes }),
    async (opened) => opened.close(),
  )
  return { mailer: leased.value, close: leased.release }
}

/** A reload opens the tenant again before it closes the former opening, so the mailbox keeps its messages. */
function openMailbox({ tenant, shares, clock, showsMailbox }: MailNeeds): OpenMailer {
  if (!showsMailbox) throw settingsFault('mail.url', 'is mailbox: only the serving process has one, at /try')
  const { value, release } = shares.lease(
    `mailbox of ${tenant ?? defaultTenant}`,
    () => memoryMailbox(clock),
    async () => undefined,
  )
  return { mailer: value, mailbox: value, close: release }
}

/** Throws a `SettingsFault` if a template cannot be used. */
export async function templatesOf({ mail, users }: Pick<Settings, 'mail' | 'users'>) {
  const { loadTemplates, TemplateFault } = await import('../../adapters/mail/templates.ts')
  const needed = messageNames.filter((name) => name !== 'accountDeleted' || users.selfDeletion)
  const templates = await loadTemplates(mail.templates ?? null, needed).catch((thrown: unknown) => {
    throw thrown instanceof TemplateFault ? settingsFault('mail.templates', thrown.message) : thrown
  })
  if (!templates.languages.includes(mail.language)) {
    throw settingsFault('mail.language', `has no templates; there are templates in ${templates.languages.join(', ')}`)
  }
  return templates
}

/** The sender of the settings, or one at the host of the service. */
export function senderOf(settings: Pick<Settings, 'mail' | 'pages'>, publicUrl: string): Sender {
  const url = mailUrlOf(settings)
  const given = settings.mail.from ?? (url?.kind === 'smtp' ? url.login?.user : undefined)
  const sender = given === undefined ? null : parseSender(given)
  // Safe: a header needs no dot in the host, which an address of a user has.
  const address = sender?.address ?? (`no-reply@${new URL(publicUrl).hostname}` as Email)
  return { name: sender?.name ?? settings.pages.name, address }
}

/** Each message carries it, so a large image would make it slow to load. */
const mostLogoBytes = 100 * 1024

/** The logo for messages. Mail programs show PNG and JPEG, and hardly any other kind. `null` for another or a large one. */
async function logoOf(path: string | null): Promise<MailImage | null> {
  const type = path === null ? null : (logoTypes.get(extname(path)) ?? null)
  if (path === null || type === null) return null
  const content = await readFile(path).catch((thrown: unknown) => {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : thrown
    throw settingsFault('pages.logo', `cannot be read (${String(code)})`)
  })
  return content.length > mostLogoBytes ? null : { cid: 'logo@portcullis', fileName: basename(path), type, content }
}

const logoTypes = new Map<string, MailImage['type']>([
  ['.png', 'image/png'],
  ['.jpg', 'image/jpeg'],
])

/** The address for questions of users. */
export function contactOf({ mail, pages }: Pick<Settings, 'mail' | 'pages'>): Email | null {
  return pages.contact === null ? replyToOf({ mail }) : addressIn(pages.contact)
}

export function replyToOf({ mail }: Pick<Settings, 'mail'>): Email | null {
  return mail.replyTo === undefined ? null : addressIn(mail.replyTo)
}
