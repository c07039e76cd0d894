/** The fields of every template: the sender's name, the address of the account, the address for questions. */
export const commonFields = ['service', 'email', 'support'] as const

const linkFields = ['link', 'hours', 'minutes'] as const
const providerFields = ['provider', 'account'] as const
const signInFields = ['browser', 'system', 'network', 'time'] as const

/** The messages, by the names of their settings, with the further fields of their templates. */
export const ownFields = {
  verify: linkFields,
  reset: linkFields,
  invitation: ['link', 'time'],
  passwordChanged: ['removed'],
  addressChanged: [],
  accountLinked: providerFields,
  accountUnlinked: providerFields,
  secondFactorChanged: [
    'added',
    'removed',
    'app',
    'passkey',
    'all',
    'renewed',
    'used',
    'left',
    'few',
    'kept',
    'copied',
  ],
  secondFactorReset: ['link', 'time'],
  secondFactorRefused: signInFields,
  newSignIn: signInFields,
  inactiveSignIn: ['time'],
  accountDeleted: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type MessageName = keyof typeof ownFields

export const messageNames = Object.keys(ownFields) as MessageName[] // safe: its only keys

export type MessageFields = Readonly<Record<string, string | number | boolean | Date | null>>
