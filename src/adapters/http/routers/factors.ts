import { Type } from 'typebox'
import type { ReadUser } from '../../../application/accounts/read-user.ts'
import type { BeginTotp } from '../../../application/factors/begin-totp.ts'
import type { ConfirmTotp } from '../../../application/factors/confirm-totp.ts'
import type { KeepFactors, RedeemKeepFactors } from '../../../application/factors/keep-factors.ts'
import type { RemoveFactors } from '../../../application/factors/remove-factors.ts'
import type { RenewRecoveryCodes } from '../../../application/factors/renew-recovery-codes.ts'
import type { ResetFactors } from '../../../application/factors/reset-factors.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import type { User } from '../../../domain/user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { text, VerifyBody } from '../schemas.ts'
import { renewed, renewedToken, transportOf } from '../transports/http-backend.ts'
import { addedFirst, level, PasskeySchema, type PasskeyUse, passkeyBody, passkeyEndpoints } from './passkeys.ts'
import { target } from './sessions.ts'

export interface Use extends PasskeyUse {
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
  /** Draws a text as a QR code in SVG. */
  qrCode: (text: string) => Promise<string>
}

const orNull = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

const ResetSchema = Type.Object(
  { reset_at: Type.String({ format: 'date-time', description: 'When the factors go, unless the user stops it' }) },
  { title: 'FactorReset', additionalProperties: false },
)

export const FactorsSchema = Type.Object(
  {
    totp: Type.Unsafe<{ readonly added_at: string } | null>({
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

export const SetupSchema = Type.Object(
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

const recovery_codes = Type.Array(Type.String(), { description: 'Each works once. They are shown only here' })
export const CodesSchema = Type.Object({ recovery_codes }, { title: 'RecoveryCodes', additionalProperties: false })
const AddedSchema = Type.Object(
  { recovery_codes, ...renewedToken },
  { title: 'AddedTotp', additionalProperties: false },
)

const factorsBody = ({ factors: { totp, passkeys, recovery, resetAt } }: User, isRequired: boolean) => ({
  totp: totp && { added_at: new Date(totp.addedAt).toISOString() },
  passkeys: passkeys.map(passkeyBody),
  recovery_codes: recovery?.digests.length ?? 0,
  reset_at: resetAt && new Date(resetAt).toISOString(),
  is_required: isRequired,
})

const kept = { 204: { description: 'The factors stay', body: null } }

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
      replies: { 200: { description: addedFirst, body: AddedSchema } },
      refusals: ['SECOND_FACTOR_REFUSED', 'FACTOR_ALREADY_EXISTS', ...level],
      async handle({ by, body: { setup, code }, request }, { confirmTotp, backends }: Use) {
        const added = await confirmTotp.execute({ by, setup, code, ...request })
        const { members, cookies } = renewed(added, transportOf(by, backends))
        return { status: 200, body: { recovery_codes: added.recoveryCodes, ...members }, cookies }
      },
    }),
    endpoint(routes.factors.removeTotp, {
      operationId: 'factors:remove_totp',
      summary: 'Remove the authenticator app, with the recovery codes',
      replies: { 204: { description: 'Removed', body: null } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, request }, { removeFactors }: Use) {
        await removeFactors.execute({ by, target: by.user, which: 'totp', ...request })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.renewRecoveryCodes, {
      operationId: 'factors:renew_recovery_codes',
      summary: 'Replace the recovery codes',
      replies: { 200: { description: 'The former codes no longer work', body: CodesSchema } },
      refusals: ['NOT_FOUND', ...level],
      async handle({ by, request }, { renewRecoveryCodes }: Use) {
        const recovery_codes = await renewRecoveryCodes.execute({ by, ...request })
        return { status: 200, body: { recovery_codes } }
      },
    }),
    ...passkeyEndpoints,
    endpoint(routes.factors.keepMine, {
      operationId: 'factors:keep',
      summary: 'Stop the reset of the own second factors',
      replies: kept,
      refusals: ['NOT_FOUND', 'SECOND_FACTOR_REQUIRED'],
      async handle({ by, request }, { keepFactors }: Use) {
        await keepFactors.execute({ by, target: by.user, ...request })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.redeemKeep, {
      operationId: 'factors:redeem_keep',
      summary: 'Stop the reset of second factors by the token of the message about it',
      body: VerifyBody,
      replies: kept,
      refusals: ['FACTOR_RESET_BAD_TOKEN'],
      async handle({ body: { token }, request }, { redeemKeepFactors }: Use) {
        await redeemKeepFactors.execute({ token, ...request })
        return { status: 204 }
      },
    }),
    endpoint(routes.factors.reset, {
      operationId: 'factors:reset',
      summary: 'Reset the second factors of a user who has lost them: they go after `security.factorResetHours`',
      target,
      replies: { 200: { description: 'The reset runs, and the user is told', body: ResetSchema } },
      refusals: ['FRESH_LOGIN_REQUIRED'],
      async handle({ by, target, request }, { resetFactors }: Use) {
        const resetAt = await resetFactors.execute({ by, target, ...request })
        return { status: 200, body: { reset_at: resetAt.toISOString() } }
      },
    }),
    endpoint(routes.factors.keep, {
      operationId: 'factors:keep_of_user',
      summary: 'Stop the reset of the second factors of a user',
      target,
      replies: kept,
      async handle({ by, target, request }, { keepFactors }: Use) {
        await keepFactors.execute({ by, target, ...request })
        return { status: 204 }
      },
    }),
  ],
}
