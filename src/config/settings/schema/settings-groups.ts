import Type from 'typebox'
import { greatestCost } from '../../../adapters/crypto/cost-bounds.ts'
import { maxLifetimeSeconds } from '../../plugins/strategies.ts'
import type { Annotations } from './annotations.ts'

/** Whether `text` is written exactly as browsers write an origin: `https://app.example.com`, no path, no slash. */
function isOrigin(text: string): boolean {
  if (!/^https?:/.test(text) || text.includes('*') || !URL.canParse(text)) return false
  return new URL(text).origin === text
}

const originExample = 'an origin as browsers write it (https://app.example.com: lower case, no path, no final /)'

const origin = (options: Annotations) =>
  Type.Refine(Type.String({ expects: originExample, ...options }), (text) => isOrigin(text))

export const prefix = (options: Annotations) =>
  Type.String({
    pattern: '^(/(?!\\.{1,2}(/|$))[A-Za-z0-9._~-]+)+$',
    expects: 'a path such as /auth: a / before each part, none at the end, only letters, digits, - . _ ~',
    description: 'Path in front of the routes.',
    ...options,
  })

export const enabled = (description: string) => Type.Boolean({ default: true, description })

export const seconds = (standard: number, maximum: number, description: string) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description })

export const http = Type.Object({
  host: Type.String({
    pattern: '^([A-Za-z0-9_.-]+|[0-9A-Fa-f:.]+(%[A-Za-z0-9]+)?)$',
    expects: 'a host name or an IP address, without port and brackets',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` or `::` for all.',
  }),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'Port to listen on; `0` takes any free one and prints it.',
  }),
  publicUrl: Type.Optional(
    origin({
      otherwise: '`http://localhost:<port>` on loopback, elsewhere required',
      description: 'Origin under which browsers reach the service.',
    }),
  ),
  allowedOrigins: Type.Array(origin({}), {
    default: [],
    description: 'Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.',
  }),
})

export const handlers = Type.Object({
  module: Type.Optional(
    Type.String({
      minLength: 1,
      expects: 'the path of a file',
      otherwise: 'none',
      nullIsNone: true,
      description:
        'ES module whose exports are handlers by their names (`on_after_register`, …); `null` in a file for none, where a tenant inherits one.',
    }),
  ),
  console: Type.Optional(
    Type.Boolean({
      otherwise: 'on when listening on loopback without a module',
      description: 'Prints every event, with its tokens, as one JSON line on standard output.',
    }),
  ),
  timeoutSeconds: Type.Number({
    minimum: 0.05,
    maximum: 3600,
    default: 10,
    description: 'A handler that takes longer has failed and is called again.',
  }),
})

export const passwords = Type.Object({
  minLength: Type.Integer({
    // NIST SP 800-63B-4 section 3.1.1.2: not below 8; NIST asks for room up to 64 at least.
    minimum: 8,
    maximum: 64,
    default: 8,
    description: 'Least number of characters of a new password.',
  }),
  maxWaitSeconds: Type.Number({
    minimum: 0,
    maximum: 3600,
    default: 3,
    description: 'When hashing a password would have to wait longer, the answer is 503 with `Retry-After`.',
  }),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1024,
      otherwise: 'by the processors at hand',
      description: 'Lanes hashing at a time; a hash takes as many as `parallelism` says.',
    }),
  ),
  memoryKiB: Type.Integer({
    minimum: 7168,
    maximum: greatestCost.memoryKiB,
    default: 19_456,
    description: 'Memory of one argon2id hash, in KiB.',
  }),
  timeCost: Type.Integer({
    minimum: 1,
    maximum: greatestCost.timeCost,
    default: 2,
    description: 'Passes of one argon2id hash.',
  }),
  parallelism: Type.Integer({ minimum: 1, maximum: 16, default: 1, description: 'Lanes of one argon2id hash.' }),
})

export const tokens = Type.Object({
  // NIST SP 800-63B-4 section 4.2.1.2: a code sent by e-mail lives at most 24 hours.
  resetLifetimeSeconds: seconds(900, 86_400, 'Life of a token that resets a password.'),
  verifyLifetimeSeconds: seconds(86_400, 30 * 86_400, 'Life of a token that verifies an address.'),
})

export const security = Type.Object({
  freshLoginSeconds: Type.Integer({
    minimum: 0,
    maximum: maxLifetimeSeconds,
    default: 0,
    description:
      'A new password or address needs `current_password` or a login younger than this; `0` turns the demand off.',
  }),
  maxOpenJourneys: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description:
      'Journeys to OAuth providers that may be open at the same time; while so many are, a new one gets 503 with `Retry-After`.',
  }),
})

export const logs = Type.Object({
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'Least level of a line in the log (standard error).',
  }),
  requests: Type.Enum(['slow', 'all'], {
    default: 'slow',
    description: 'Requests that get a line: those that fail or take more than 250 ms, or all.',
  }),
})

export const events = Type.Object({
  relay: Type.Enum(['on', 'off'], {
    default: 'on',
    description: 'With `off` the service delivers no events and sweeps nothing: `portcullis worker` does both.',
  }),
  leaseSeconds: Type.Integer({
    // A third of it has to be longer than a store may keep a renewal waiting, or leases end under who still holds them.
    minimum: 3,
    maximum: 3600,
    default: 20,
    description: 'So long after a process was last heard of, others take over what it was delivering.',
  }),
})

export const docs = Type.Object({ enabled: enabled('Whether `/docs` and `/openapi.json` are served.') })

export const tryPage = Type.Object({
  enabled: Type.Optional(
    Type.Boolean({
      otherwise: 'on when listening on loopback',
      description: 'Whether `/try` is served: a page to try the service on, `examples/browser`.',
    }),
  ),
})
