import Type from 'typebox'

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
