import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { type Mailer, MailFailed } from '../../application/ports/mailer.ts'
import { makePrivateFolder } from '../../lib/private-folder.ts'
import { composed } from './composed.ts'

/** Writes each message into the folder, as `<id>.eml`. A repetition replaces the file. */
export function fileMailer(folder: string): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })

  return {
    async send(mail) {
      const name = `${mail.id}.eml`
      const unfinished = join(folder, `.${randomUUID()}`)
      try {
        await makePrivateFolder(folder)
        const { message } = await transport.sendMail(composed(mail))
        if (!Buffer.isBuffer(message)) throw new TypeError('nodemailer was asked for a buffer')
        await writeFile(unfinished, message, { mode: 0o600 })
        await rename(unfinished, join(folder, name)) // so that no reader sees half a message
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => undefined) // a full disk leaves a part, with its token
        const code = error instanceof Error && 'code' in error ? error.code : null
        throw new MailFailed(`writing a file: ${String(code ?? 'fault')}`)
      }
      return `written to ${name}`
    },
  }
}
