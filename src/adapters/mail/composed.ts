import { domainToASCII } from 'node:url'
import type { SendMailOptions } from 'nodemailer'
import type { Mail } from '../../application/ports/mailer.ts'
import type { Email } from '../../domain/email.ts'

/** The fields for nodemailer. Addresses are objects, because it would parse a text for names and further addresses. */
export function composed({ id, from, replyTo, to, subject, text, html, images = [] }: Mail): SendMailOptions {
  return {
    messageId: `<${id}@${domainToASCII(domainOf(from.address))}>`,
    from: { name: from.name ?? '', address: from.address },
    to: bare(to),
    ...(replyTo !== null && { replyTo: bare(replyTo) }),
    subject,
    text,
    ...(html !== null && { html }),
    attachments: images.map(({ cid, fileName, type, content }) => ({
      cid,
      filename: fileName,
      contentType: type,
      contentDisposition: 'inline' as const,
      content: Buffer.from(content),
    })),
    headers: { 'Auto-Submitted': 'auto-generated' }, // RFC 3834: no absence notes in return
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function bare(address: Email): { name: string; address: string } {
  return { name: '', address }
}

function domainOf(address: Email): string {
  return address.slice(address.lastIndexOf('@') + 1)
}
