import type { KeptMail, Mailbox } from '../../application/ports/mailer.ts'

const mostKept = 100

/** Keeps the last messages in the process, for development. */
export function memoryMailbox(clock: () => Date): Mailbox {
  let kept: readonly KeptMail[] = []
  let count = 0

  return {
    async send(mail) {
      count++
      kept = [{ number: count, at: clock(), mail }, ...kept].slice(0, mostKept)
      return 'kept in the mailbox'
    },
    newestFirst: () => kept,
  }
}
