import { Type } from 'typebox'
import type { ReadUser } from '../../../application/accounts/read-user.ts'
import type { BeginTotp } from '../../../application/factors/begin-totp.ts'
import type { ConfirmTotp } from '../../../application/factors/confirm-totp.ts'
import type { KeepFactors, RedeemKeepFactors } from '../../../application/factors/keep-factors.ts'
import type { RemoveFactors } from '../../../application/factors/remove-factors.ts'
import type { RenewRecoveryCodes } from '../../../application/factors/renew-recovery-codes.ts'
import type { ResetFactors } from '../../../application/factors/reset-factors.ts'
import type { AddPasskey } from '../../../application/passkeys/add-passkey.ts'
import type { BeginPasskey } from '../../../application/passkeys/begin-passkey.ts'
import type { ChangePasskey } from '../../../application/passkeys/change-passkey.ts'
import { passkeyAlgorithms } from '../../../application/ports/passkey-verifier.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import type { Passkey } from '../../../domain/factors.ts'
import type { User } from '../../../domain/user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { text, VerifyBody } from '../schemas.ts'
import { passkeyAnswer, passkeyMilliseconds } from './passkey-answer.ts'
import { target } from './sessions.ts'

export interface Use {
  beginTotp: BeginTotp
  confirmTotp: ConfirmTotp
  removeFactors: RemoveFactors
  renewRecoveryCodes: RenewRecoveryCodes
  resetFactors: ResetFactors
  keepFactors: KeepFactors
  redeemKeepFactors: RedeemKeepFactors
  readUser: ReadUser
  /** Whether the settings demand two factors of the user, and the login was without them. */
  isTooWeak: (by: Authenticated) => boolean
  beginPasskey: BeginPasskey
  addPasskey: AddPasskey
  changePasskey: ChangePasskey
  /** The name of the service, for the dialogs of browsers. */
  serviceName: string
  /** Draws a text as a QR code in SVG. */
  qrCode: (text: string) => Promise<string>
}

const orNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

const ResetSchema = Type.Object(
  { reset_at: Type.String({ format: 'date-time', description: 'When the factors go, unless the user stops it' }) },
  { title: 'FactorReset', additionalProperties: false },
)

const PasskeySchema = Type.Object(
  {
    id: Type.String({ description: 'The id of the credential' }),
    name: Type.String(),
    added_at: Type.String({ format: 'date-time' }),
    domain: Type.String({ description: 'It works only for this one (RP ID)' }),
  },
  { title: 'Passkey', additionalProperties: false },
)

const name = Type.String({ minLength: 1, maxLength: 64, wellFormed: true, description: 'For the list of the user' })

const PasskeyBody = Type.Object({ response: passkeyAnswer, name: Type.Optional(name) }, { title: 'NewPasskey' })
const NameBody = Type.Object({ name }, { title: 'PasskeyName' })

const OptionsSchema = Type.Object(
  {
    challenge: Type.String({ description: 'Works once, for five minutes, in this login' }),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    excludeCredentials: Type.Array(Type.Object({ type: Type.Literal('public-key'), id: Type.String() })),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      userVerification: Type.Literal('required'),
    }),
    attestation: Type.Literal('none'),
    extensions: Type.Object({ credProps: Type.Boolean() }),
    timeout: Type.Integer(),
  },
  { title: 'PasskeyCreation', additionalProperties: false },
)

const passkeyBody = ({ id, name, addedAt, rpId }: Passkey) => ({
  id,
  name,
  added_at: new Date(addedAt).toISOString(),
  domain: rpId,
})

const FactorsSchema = Type.Object(
  {
    totp: Type.Unsafe<object | null>({
      type: ['object', 'null'],
      properties: { added_at: { type: 'string', format: 'date-time' } },
      required: ['added_at'],
      additionalProperties: false,
      description: 'The authenticator app; null without one',
    }),
    passkeys: Type.Array(PasskeySchema),
    recovery_codes: Type.Integer({ description: 'The number of unused recovery codes' }),
    reset_at: orNull('When the factors will go, because somebody has asked for their reset'),
    is_required: Type.Boolean({
      description: 'Whether this login may only add a factor, or has to be repeated with it',
    }),
  },
  { title: 'Factors', additionalProperties: false },
)

const SetupSchema = Type.Object(
  {
    secret: Type.String({ description: 'In base32, for people who type it' }),
    address: Type.String({ description: 'The `otpauth:` address, for a link on a telephone' }),
    qr_code: Type.String({ description: 'The address as a QR code, in SVG' }),
    setup: Type.String({ description: 'For the confirmation, within 15 minutes' }),
  },
  { title: 'TotpSetup', additionalProperties: false },
)

const ConfirmBody = Type.Object(
  { setup: text('The `setup` of the answer before'), code: text('The six digits that the app shows') },
  { title: 'TotpConfirmation' },
)

const CodesSchema = Type.Object(
  { recovery_codes: Type.Array(Type.String(), { description: 'Each works once. They are shown only here' }) },
  { title: 'RecoveryCodes', additionalProperties: false },
)

const factorsBody = ({ factors: { totp, passkeys, recovery, resetAt } }: User, isRequired: boolean) => ({
  totp: totp && { added_at: new Date(totp.addedAt).toISOString() },
  passkeys: passkeys.map(passkeyBody),
  recovery_codes: recovery?.digests.length ?? 0,
  reset_at: resetAt && new Date(resetAt).toISOString(),
  is_required: isRequired,
})

const passkeyId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,2048}$' })
const kept = { 204: { description: 'The factors stay', body: null } }

const level = ['SECOND_FACTOR_REQUIRED', 'FRESH_LOGIN_REQUIRED'] as const

/** The second factors of the own account. Every change needs a login of the last 900 s, by the factor once there is one. */
export const factorsRouter: Router<Use> = {
  tag: 'factors',
  endpoints: [
    endpoint(routes.factors.list, {
      operationId: 'factors:list',
      isBeforeFactor: true,
      summary: 'Read which second factors the own account has',
      replies: { 200: { description: 'The factors, without secrets', body: FactorsSchema } },
      handle: async ({ by }, { isTooWeak }: Use) => ({ status: 200, body: factorsBody(by.user, isTooWeak(by)) }),
    }),
    endpoint(routes.factors.beginTotp, {
      operationId: 'factors:begin_totp',
      isBeforeFactor: true,
      summary: 'Begin to add an authenticator app (RFC 6238)',
      replies: { 200: { description: 'Nothing is stored before the confirmation', body: SetupSchema } },
      refusals: ['FACTOR_ALREADY_EXISTS', ...level],
      async handle({ by }, { beginTotp, qrCode }: Use) {
        const { secret, address, setup } = await beginTotp.execute({ by })
        return { status: 200, body: { secret, address, qr_code: await qrCode(address), setup } }
      },
    }),
    endpoint(routes.factors.confirmTotp, {
      operationId: 'factors:confirm_totp',
      isBeforeFactor: true,
      summary: 'Add the authenticator app by its first code, and end all other logins',
      body: ConfirmBody,
      replies: { 200: { description: 'Added', body: CodesSchema } },
      refusals: ['SECOND_FACTOR_REFUSED', 'FACTOR_ALREADY_EXISTS', ...level],
      async handle({ by, body: { setup, code }, requestId, languages }, { confirmTotp }: Use) {
        const recovery_codes = await confirmTotp.execute({ by, setup, code, requestId, languages })
        return { status: 200, body: { recovery_codes } }
      },
    }),
    endpoint(routes.factors.removeTotp, {
      operationId: 'factors:remove_totp',
      summary: 'Remove the authenticator app, with the recovery codes',
      replies: { 204: { description: 'Removed', body: null } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, requestId, languages }, { removeFactors }: Use) {
        await removeFactors.execute({ by, target: by.user, which: 'totp', requestId, languages })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.renewRecoveryCodes, {
      operationId: 'factors:renew_recovery_codes',
      summary: 'Replace the recovery codes',
      replies: { 200: { description: 'The former codes no longer work', body: CodesSchema } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, requestId, languages }, { renewRecoveryCodes }: Use) {
        const recovery_codes = await renewRecoveryCodes.execute({ by, requestId, languages })
        return { status: 200, body: { recovery_codes } }
      },
    }),
    endpoint(routes.factors.beginPasskey, {
      isBeforeFactor: true,
      operationId: 'factors:begin_passkey',
      summary: 'Begin to add a passkey (WebAuthn Level 3)',
      replies: { 200: { description: 'For `navigator.credentials.create`', body: OptionsSchema } },
      refusals: ['PASSKEYS_NOT_AVAILABLE', 'FACTOR_ALREADY_EXISTS', ...level],
      async handle({ by, caller }, { beginPasskey, serviceName }: Use) {
        const { challenge, rpId, handle, present } = await beginPasskey.execute({ by, client: caller.client })
        const { email } = by.user
        const body = {
          challenge,
          rp: { id: rpId, name: serviceName },
          user: { id: handle, name: email, displayName: email },
          pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
          excludeCredentials: present.map(({ id }) => ({ type: 'public-key', id })),
          authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
          attestation: 'none',
          extensions: { credProps: true },
          timeout: passkeyMilliseconds,
        }
        return { status: 200, body }
      },
    }),
    endpoint(routes.factors.addPasskey, {
      isBeforeFactor: true,
      operationId: 'factors:add_passkey',
      summary: 'Add a passkey by the answer of its authenticator. The first factor ends all other logins',
      body: PasskeyBody,
      replies: {
        200: {
          description: 'Added',
          body: Type.Object(
            {
              passkey: PasskeySchema,
              recovery_codes: Type.Array(Type.String(), { description: 'With the first factor' }),
            },
            { title: 'AddedPasskey', additionalProperties: false },
          ),
        },
      },
      refusals: ['SECOND_FACTOR_REFUSED', 'FACTOR_ALREADY_EXISTS', ...level],
      async handle({ by, body, requestId, languages }, { addPasskey }: Use) {
        const { response, name = 'Passkey' } = body
        const added = await addPasskey.execute({ by, response, name, requestId, languages })
        return { status: 200, body: { passkey: passkeyBody(added.passkey), recovery_codes: added.recoveryCodes } }
      },
    }),
    endpoint(routes.factors.renamePasskey, {
      operationId: 'factors:rename_passkey',
      summary: 'Rename a passkey',
      parameters: { id: passkeyId },
      body: NameBody,
      replies: { 204: { description: 'Renamed', body: null } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, params: { id = '' }, body: { name }, requestId, languages }, { changePasskey }: Use) {
        await changePasskey.execute({ by, id, name, requestId, languages })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.removePasskey, {
      operationId: 'factors:remove_passkey',
      summary: 'Remove a passkey. The recovery codes go with the last factor',
      parameters: { id: passkeyId },
      replies: { 204: { description: 'Removed', body: null } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, params: { id = '' }, requestId, languages }, { changePasskey }: Use) {
        await changePasskey.execute({ by, id, name: null, requestId, languages })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.keepMine, {
      operationId: 'factors:keep',
      summary: 'Stop the reset of the own second factors',
      replies: kept,
      refusals: ['NOT_FOUND', 'SECOND_FACTOR_REQUIRED'],
      async handle({ by, requestId, languages }, { keepFactors }: Use) {
        await keepFactors.execute({ by, target: by.user, requestId, languages })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.redeemKeep, {
      operationId: 'factors:redeem_keep',
      summary: 'Stop the reset of second factors by the token of the message about it',
      body: VerifyBody,
      replies: kept,
      refusals: ['FACTOR_RESET_BAD_TOKEN'],
      async handle({ body: { token }, requestId, languages }, { redeemKeepFactors }: Use) {
        await redeemKeepFactors.execute({ token, requestId, languages })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.reset, {
      operationId: 'factors:reset',
      summary: 'Reset the second factors of a user who has lost them: they go after `security.factorResetHours`',
      target,
      replies: { 200: { description: 'The reset runs, and the user is told', body: ResetSchema } },
      refusals: ['FRESH_LOGIN_REQUIRED'],
      async handle({ by, target, requestId, languages }, { resetFactors }: Use) {
        const resetAt = await resetFactors.execute({ by, target, requestId, languages })
        return { status: 200, body: { reset_at: resetAt.toISOString() } }
      },
    }),
    endpoint(routes.factors.keep, {
      operationId: 'factors:keep_of_user',
      summary: 'Stop the reset of the second factors of a user',
      target,
      replies: kept,
      async handle({ by, target, requestId, languages }, { keepFactors }: Use) {
        await keepFactors.execute({ by, target, requestId, languages })
        return { status: 204 }
      },
    }),
  ],
}
