import Type from 'typebox'
import { addressIn, parseSender } from '../../../adapters/addresses/parse-sender.ts'
import { mailUrlForms } from '../../../adapters/mail/mail-url.ts'
import { type MessageName, messageNames } from '../../../adapters/mail/message-fields.ts'
import { isLanguageTag } from '../../../lib/languages.ts'
import { enabled, page } from './fields.ts'

export const handlers = Type.Object({
  module: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the path of a file',
      otherwise: 'none',
      nullIsNone: true,
      description:
        'ES module that exports handlers by their names (`on_after_register`, …). `null` removes an inherited module from a tenant.',
    }),
  ),
  console: Type.Optional(
    Type.Boolean({
      otherwise: 'on without a module when the host and the public URL are loopback',
      description: 'Prints every event, with its tokens, as one JSON line on standard output.',
    }),
  ),
  timeoutSeconds: Type.Number({
    minimum: 0.05,
    maximum: 3600,
    default: 10,
    description: 'A handler that takes longer has failed. The service calls it again.',
  }),
})

export const events = Type.Object({
  relay: Type.Enum(['on', 'off'], {
    default: 'on',
    description:
      'With `off`, the service delivers no events and removes no expired data. `portcullis worker` does both.',
  }),
  leaseSeconds: Type.Integer({
    // A lease is renewed after a third of it. A store may delay the renewal, and the lease must not end before.
    minimum: 3,
    maximum: 3600,
    default: 20,
    description: 'Length of a lease. When a process dies, others take over its deliveries after this time.',
  }),
})

const descriptions: Readonly<Record<MessageName, string>> = {
  verify: 'The link that verifies an address.',
  reset: 'The link to choose a new password.',
  invitation: 'The link to choose the first password, for a user whom somebody else has created.',
  passwordChanged: 'The notice of a new or removed password.',
  addressChanged: 'The notice of a new address, to the old one.',
  accountLinked: 'The notice of a linked account.',
  accountUnlinked: 'The notice of an unlinked account.',
  secondFactorChanged:
    'The notice of a second factor that was added, removed or kept, of recovery codes that were replaced or used, and of a passkey of which a copy may exist.',
  secondFactorReset: 'The notice that the second factors will go, with a link that stops this.',
  secondFactorRefused: 'The notice of a right password with a wrong second factor.',
  newSignIn: 'The notice of a sign-in from a new browser.',
  inactiveSignIn: 'The notice of a right password for a deactivated account.',
  accountDeleted: 'The notice that users have deleted their account (`users.selfDeletion`).',
}

export const mail = Type.Object({
  url: Type.Optional(
    Type.String({
      secret: 'address',
      expects: mailUrlForms,
      otherwise: '`mailbox:` where `/try` is on without `handlers.module`, elsewhere `off`',
      description: `The server that takes the messages: \`${mailUrlForms.replace(' or ', '` or `').replaceAll(', ', '`, `')}\`. The mailbox keeps them in the process, and \`/try/mailbox\` shows them.`,
    }),
  ),
  requireTls: Type.Optional(
    Type.Boolean({
      otherwise: 'on, except to a server on this machine',
      description:
        'Sends only with TLS and a valid certificate. With `false`, TLS is used where the server offers it, with any certificate.',
    }),
  ),
  from: Type.Optional(
    Type.Refine(
      Type.String({
        expects:
          'an address with ASCII characters before the @, or a name with such an address: Acme <accounts@example.com>',
        otherwise: 'the user of `mail.url` if it is an address, otherwise `no-reply@` and the host of `http.publicUrl`',
        description: 'The sender. Its name is the name of the service in messages, unless `pages.name` is set.',
      }),
      (text) => parseSender(text) !== null,
    ),
  ),
  ehlo: Type.Optional(
    Type.String({
      // A domain or an address literal (RFC 5321 section 4.1.1.1).
      pattern: '^([A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*|\\[[0-9A-Za-z.:]+\\])$',
      expects: 'a host name, such as mail.example.com',
      otherwise:
        'the host of `http.publicUrl` if its name has a dot, otherwise the domain of `mail.from`. Tenants inherit that of the whole service',
      description:
        'Name of this machine in EHLO, the greeting to the SMTP server. Some servers refuse names without DNS records.',
    }),
  ),
  replyTo: Type.Optional(
    Type.Refine(
      Type.String({
        expects: 'an address with ASCII characters before the @',
        otherwise: 'none',
        nullIsNone: true,
        description: 'Address for answers and questions. Notices name it, unless `pages.contact` is set.',
      }),
      (text) => addressIn(text) !== null,
    ),
  ),
  links: Type.Object({
    verify: page('Page that verifies an address. It gets `#token=…`.', '`/account/verify` of `http.publicUrl`'),
    reset: page('Page that sets a new password. It gets `#token=…`.', '`/account/reset` of `http.publicUrl`'),
    keepFactors: page(
      'Page that stops a reset of second factors. It gets `#token=…`.',
      '`/account/factors` of `http.publicUrl`',
    ),
  }),
  templates: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the path of a folder',
      otherwise: 'none',
      nullIsNone: true,
      description: 'Folder of templates that replace ours or add languages.',
    }),
  ),
  language: Type.Refine(
    Type.String({
      expects: 'the tag of a language, such as en or de',
      default: 'en',
      description: 'Language of a message if no language of the request has templates.',
    }),
    isLanguageTag,
  ),
  verifyOnRegister: Type.Boolean({
    default: true,
    description: 'Sends the link that verifies an address after a registration, where mail is on.',
  }),
  messages: Type.Object(
    // Safe: built from the names.
    Object.fromEntries(messageNames.map((name) => [name, enabled(descriptions[name])])) as Record<
      MessageName,
      ReturnType<typeof enabled>
    >,
  ),
})
