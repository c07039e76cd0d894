import type { Email } from '../../domain/email.ts'
import { HandlerFailed } from './event-handlers.ts'

export interface Sender {
  /** The name beside the address; `null` without one. */
  readonly name: string | null
  readonly address: Email
}

/** An image within a message. Its HTML shows it by `cid:` and this id (RFC 2392). */
export interface MailImage {
  readonly cid: string
  readonly fileName: string
  readonly type: 'image/png' | 'image/jpeg'
  readonly content: Uint8Array
}

/** A message to one person. */
export interface Mail {
  /** The same at each attempt. It becomes the `Message-ID`, so that mailboxes recognise repetitions. */
  readonly id: string
  readonly from: Sender
  readonly replyTo: Email | null
  readonly to: Email
  readonly subject: string
  readonly text: string
  /** `null` for a message of text alone. */
  readonly html: string | null
  readonly images?: readonly MailImage[]
}

export interface Mailer {
  /**
   * Resolves to the server's answer when the server has taken the message. Rejects with `MailRefused` when it will never
   * take it, with `MailFailed` when a later attempt may succeed, and with `Unavailable` when the attempt did not begin.
   */
  send(mail: Mail): Promise<string>
}

/** A message that was kept for development. */
export interface KeptMail {
  /** Counted from 1. */
  readonly number: number
  readonly at: Date
  readonly mail: Mail
}

/** Keeps messages in the process instead of sending them. */
export interface Mailbox extends Mailer {
  newestFirst(): readonly KeptMail[]
}

/**
 * The mail was perhaps not sent. `name`, `where` and `message` hold nothing of the mail and its recipient. Logs take `where`,
 * without a word of the server; lists for operators take `message`.
 */
export class MailFailed extends HandlerFailed {
  /** The whole answer of the server, which may quote the address; `null` when there was none. */
  readonly answer: string | null

  /** @param where the command that failed, with the status of the answer or the name of the error */
  constructor(
    where: string,
    { answer = null, words = '', name = 'MailFailed' }: Partial<Said & { name: string }> = {},
  ) {
    super(name, `${where} ${words}`.trim(), where)
    this.answer = answer
  }
}

interface Said {
  readonly answer: string | null
  /** The words of the answer that quote nothing of the mail and its recipient. */
  readonly words: string
}

/** The server does not take the recipient or the message, and would not take it at a later attempt. */
export class MailRefused extends MailFailed {
  override readonly isFinal: boolean = true

  constructor(where: string, said: Partial<Said> = {}) {
    super(where, { ...said, name: 'MailRefused' })
  }
}
