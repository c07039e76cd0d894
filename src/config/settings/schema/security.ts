import Type from 'typebox'
import { maxLifetimeSeconds } from '../../../adapters/credentials/options.ts'
import { greatestCost } from '../../../adapters/crypto/cost-bounds.ts'
import { fieldsSettings } from '../../../adapters/fields/field-schema.ts'
import { factorPolicies } from '../../../application/factors/level.ts'
import { seconds } from './fields.ts'

export const passwords = Type.Object({
  minLength: Type.Integer({
    // NIST SP 800-63B-4 section 3.1.1.2: at least 8, and passwords of 64 characters must be allowed.
    minimum: 8,
    maximum: 64,
    default: 8,
    hardened: {
      value: 15,
      because: 'The minimum for a password that is the only factor (NIST SP 800-63B-4 section 3.1.1.2).',
    },
    description: 'Smallest number of characters of a new password.',
  }),
  refusesCommon: Type.Boolean({
    default: true,
    description:
      'Refuses a new password that is one of the 49 000 commonest, or a row such as `abcdefgh`. The handler `validate_password` may have a list of its own.',
  }),
  maxWaitSeconds: Type.Number({
    minimum: 0,
    maximum: 3600,
    default: 3,
    description: 'A request gets 503 with `Retry-After` if its password hash would wait longer.',
  }),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1024,
      otherwise: 'from the number of processors',
      description: 'Limit of threads that hash at the same time. Each hash uses `parallelism` of them.',
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
    description: 'Passes of one argon2id hash. Times `passwords.memoryKiB`, at most 786432.',
  }),
  parallelism: Type.Integer({
    minimum: 1,
    maximum: greatestCost.lanes,
    default: 1,
    description: 'Threads (lanes) of one argon2id hash.',
  }),
})

export const tokens = Type.Object({
  // NIST SP 800-63B-4 section 4.2.1.2: a code sent by e-mail lives at most 24 hours.
  resetLifetimeSeconds: seconds(900, 86_400, 'Lifetime of a password reset token.'),
  verifyLifetimeSeconds: seconds(86_400, 30 * 86_400, 'Lifetime of a verification token.'),
})

export const verification = Type.Object({
  requiresSession: Type.Boolean({
    default: false,
    hardened: {
      value: true,
      because:
        'Nobody verifies an account that a stranger registered (Sudhodanan and Paverd, "Pre-hijacked accounts").',
    },
    description:
      '`POST /verify` needs a session of the account; otherwise it answers 401. So the owner of an address cannot verify an account that an attacker registered.',
  }),
})

export const security = Type.Object({
  profile: Type.Optional(
    Type.Enum(['compatible', 'hardened'], {
      otherwise: '`compatible`',
      description: 'Sets the defaults of several security settings together. A setting that is given takes precedence.',
    }),
  ),
  freshLoginSeconds: Type.Integer({
    minimum: 0,
    maximum: maxLifetimeSeconds,
    default: 0,
    hardened: {
      value: 900,
      because: 'A stolen session gives no lasting access (ASVS 5.0 sections 7.5.1 and 7.5.3).',
    },
    description:
      'Linking, unlinking, a change of password or address, and every change or deletion by a superuser need a login within this time. A PATCH may send `current_password` instead. `0` turns the check off.',
  }),
  secondFactor: Type.Enum([...factorPolicies], {
    default: 'optional',
    hardened: {
      value: 'superusers',
      because:
        'Whoever administers accounts shows two factors (ASVS 5.0 section 6.3.3, NIST SP 800-63B-4 section 2.2).',
    },
    description:
      'Who needs a second factor: nobody, superusers or everybody. Other logins of them may only add one: 403 `SECOND_FACTOR_REQUIRED` (`docs/second-factors.md`).',
  }),
  confirmEmailChange: Type.Boolean({
    default: false,
    hardened: {
      value: true,
      because: 'The address that resets the password belongs to the user (NIST SP 800-63B-4 section 4.2.1.2).',
    },
    description:
      'A new address that users set for themselves takes effect when they open the link that is sent to it and are signed in. Until then, `PATCH /users/me` answers with the present address.',
  }),
  factorResetHours: Type.Integer({
    minimum: 0,
    maximum: 720,
    default: 24,
    description:
      'Hours between the start of a reset of second factors, for a user who has lost them, and its effect. Meanwhile the user gets a message and can stop it. `0`: at once.',
  }),
  passkeyDomain: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$',
      expects: 'a host name in lower case',
      otherwise: 'the host of `http.publicUrl`',
      description:
        'Domain of passkeys (RP ID): the host of `http.publicUrl`, or a domain above it, such as `example.com` for `accounts.example.com`. With another one, the passkeys of users no longer work.',
    }),
  ),
  trustedBrowserDays: Type.Integer({
    minimum: 0,
    maximum: 365,
    default: 0,
    description:
      'Users may let a browser log in without their second factor for so many days. `0`: never. A usual value is 30.',
  }),
  maxSingleUseRecords: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 20_000,
    description:
      'Limit of open codes of apps, and of open challenges for second factors and new passkeys. Above it, a new one gets 503 with `Retry-After`. One client may have an eighth (`docs/limits.md`).',
  }),
})

const figure = (standard: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000, default: standard, description })

export const users = Type.Object({
  ...fieldsSettings,
  reportsUnchanged: Type.Boolean({
    default: false,
    fastapiUsers: true,
    description:
      'Calls `on_after_update` also for a `PATCH` that changes nothing, as fastapi-users does, with empty `changes`.',
  }),
  reportsLookups: Type.Boolean({
    default: false,
    description:
      'Calls `on_after_lookup` when a superuser searches for one user by the id or the address, reads one user, its sessions or its details, or asks why one cannot log in, and when a program does so by `admin`, or a command. Without room for the event, the answer is 503.',
  }),
  selfDeletion: Type.Boolean({
    default: false,
    hardened: {
      value: true,
      because: 'Users can erase their account without asking anybody (GDPR article 17, rules of app stores).',
    },
    description:
      'Users may delete their own account: `DELETE /users/me`, and a button on the account page. It needs a login of the last `security.freshLoginSeconds`, or of the last 900 s without this setting. Where mail is on, a verified address gets a message.',
  }),
  selfExport: Type.Boolean({
    default: false,
    description:
      'Users may read everything that is stored about them, without secrets and private fields: `GET /users/me/export` (GDPR articles 15 and 20).',
  }),
  search: Type.Boolean({
    default: true,
    fastapiUsers: false,
    description:
      'Superusers may list and find users, read their details, and why a person cannot log in: `GET /users`, `/users/{id}/details` and `/users/explain`, routes that fastapi-users does not have.',
  }),
})

export const limits = Type.Object({
  enabled: Type.Boolean({ default: true, description: 'Limits guessing and floods (`docs/limits.md`).' }),
  passwordsPerClient: figure(100, 'Wrong passwords of one client in 10 minutes.'),
  passwordsBeforePauses: figure(
    5,
    'Wrong passwords of one client for one account, after which it has to pause for 1, 2, 4 … seconds.',
  ),
  longestPauseSeconds: figure(60, 'Longest of these pauses.'),
  passwordsPerAccount: figure(
    100,
    'Wrong passwords for one account in an hour, over all clients without a device cookie. Clients with one have a counter of their own, with the same limit.',
  ),
  passwordsPerDevice: figure(10, 'Wrong passwords for one account in an hour from a browser with its device cookie.'),
  factorsPerAccount: figure(
    10,
    'Wrong second factors for one account in 15 minutes, over all clients without a device cookie. Each browser with one has a counter of its own, with the same limit.',
  ),
  factorsBeforeClosing: figure(
    100,
    'Wrong second factors for one account, over all clients without a device cookie, and as many over all browsers with one. Then the step is closed to them, until a code is right, the password changes, or 30 days have passed.',
  ),
  challengesPerAccount: figure(
    100,
    'Logins that wait for their second factor, for one account in 5 minutes, over all clients without a device cookie, and as many over all browsers with one.',
  ),
  registrationsPerClient: figure(100, 'Registrations of one client in an hour.'),
  tokenRequestsPerClient: figure(
    100,
    'Requests for reset or verification tokens, and for new addresses of the own account, of one client in an hour.',
  ),
  wrongTokensPerClient: figure(60, 'Wrong reset or verification tokens of one client in 10 minutes.'),
  oauthRequestsPerClient: figure(
    300,
    'Requests of one client to begin or finish a sign-in at a provider, or to sign in for an app, in 10 minutes.',
  ),
  tokensPerAddress: figure(
    5,
    'Tokens of each kind, and notices of new sign-ins, for one address in an hour. Addresses that differ only after a `+` count as one. Further requests get the same answer, and nothing is sent.',
  ),
})
