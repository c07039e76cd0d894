import type { Received } from '../servers/smtp.ts'

/** The token of the link in a message. */
export function tokenIn({ parsed }: Received): string {
  const token = /#token=([\w-]+)/.exec(parsed.text ?? '')?.[1]
  if (token === undefined) throw new Error('the message has no token')
  return token
}

/** For `mail`: a message with this subject, before the name of the service, to this address. */
export const isMail = (subject: string, address: string) => (received: Received) =>
  (received.parsed.subject ?? '').startsWith(`${subject} – `) && received.to.length === 1 && received.to[0] === address
