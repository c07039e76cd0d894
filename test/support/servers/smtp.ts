import PostalMime, { type Email as ParsedMail } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { eventually } from '../eventually.ts'
import { certificate } from './certificate.ts'

/** A message that the server has taken. */
export interface Received {
  readonly to: readonly string[]
  /** The name that the client has given in EHLO. */
  readonly ehlo: string
  readonly source: string
  readonly parsed: ParsedMail
}

/** The answer to a command in place of the usual one: its status, an enhanced code and words. */
export interface Reply {
  readonly status: number
  readonly text: string
}

interface Behaviour {
  /** With STARTTLS, or with TLS first. Without it the server offers no TLS. */
  readonly tls?: 'starttls' | 'first'
  readonly login?: { readonly user: string; readonly password: string }
  /** Called for each recipient; a reply refuses it. `'hang'` answers nothing. */
  readonly onRecipient?: (address: string) => Reply | 'hang' | null
  /** Called after each message, whose answer waits for it; `'drop'` closes the connection in place of an answer. */
  readonly onMessage?: (received: Received) => Reply | 'drop' | null | Promise<null>
  readonly port?: number
  /** Offers no SMTPUTF8. */
  readonly isAsciiOnly?: boolean
}

export interface SmtpStandIn {
  readonly port: number
  readonly received: readonly Received[]
  /** The logins so far, by their users. */
  readonly logins: readonly string[]
  /** The number of MAIL FROM so far. */
  senders(): number
  connections(): number
  /** Waits for a message that satisfies `wanted`. */
  mail(wanted: (received: Received) => boolean): Promise<Received>
  /** Closes every connection at once. */
  kill(): Promise<void>
}

/** A real SMTP server on a free loopback port, or on `port`. */
export async function startSmtp(behaviour: Behaviour = {}): Promise<SmtpStandIn> {
  const { tls, login, onRecipient, onMessage, port = 0, isAsciiOnly = false } = behaviour
  const received: Received[] = []
  const logins: string[] = []
  let senders = 0
  const options: SMTPServerOptions = {
    ...(tls === undefined ? { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] } : certificate()),
    secure: tls === 'first',
    authOptional: login === undefined,
    allowInsecureAuth: tls === undefined,
    hideSMTPUTF8: isAsciiOnly,
    closeTimeout: 1,
    disableReverseLookup: true, // the DNS of this machine may be slow
    onAuth({ username = '', password }, _session, callback) {
      if (username !== login?.user || password !== login.password)
        return callback(refusal({ status: 535, text: '5.7.8 no' }))
      logins.push(username)
      callback(null, { user: username })
    },
    onMailFrom(_address, _session, callback) {
      senders += 1
      callback()
    },
    onRcptTo({ address }, _session, callback) {
      const reply = onRecipient?.(address) ?? null
      if (reply !== 'hang') callback(reply && refusal(reply))
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const source = Buffer.concat(chunks).toString('utf8')
        const to = session.envelope.rcptTo.map(({ address }) => address)
        const one = { to, ehlo: session.hostNameAppearsAs, source, parsed: await PostalMime.parse(source) }
        const reply = (await onMessage?.(one)) ?? null
        if (reply === 'drop') return destroyAll()
        if (reply === null) received.push(one)
        callback(reply && refusal(reply), 'queued')
      })
    },
  }
  const server = new SMTPServer(options)
  server.on('error', () => {}) // clients drop connections
  const sockets = new Set<{ destroy(): void }>()
  server.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  function destroyAll(): void {
    for (const socket of sockets) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', () => resolve()))
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address')
  return {
    port: address.port,
    received,
    logins,
    senders: () => senders,
    connections: () => sockets.size,
    mail: (wanted) => eventually('such a message', () => received.find(wanted)),
    kill: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        destroyAll()
      }),
  }
}

function refusal({ status, text }: Reply): Error {
  return Object.assign(new Error(text), { responseCode: status })
}
