import { Type } from 'typebox'
import type { AddPasskey } from '../../../application/passkeys/add-passkey.ts'
import type { BeginPasskey } from '../../../application/passkeys/begin-passkey.ts'
import type { ChangePasskey } from '../../../application/passkeys/change-passkey.ts'
import { passkeyAlgorithms } from '../../../application/ports/passkey-verifier.ts'
import type { Passkey } from '../../../domain/factors.ts'
import type { ClientTraits } from '../../../domain/session.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { type HttpBackend, renewed, renewedToken, transportOf } from '../transports/http-backend.ts'
import { passkeyAnswer, passkeyMilliseconds } from './passkey-answer.ts'

export interface PasskeyUse {
  beginPasskey: BeginPasskey
  addPasskey: AddPasskey
  changePasskey: ChangePasskey
  backends: readonly HttpBackend[]
  /** The name of the service, for the dialogs of browsers. */
  serviceName: string
}

export const PasskeySchema = Type.Object(
  {
    id: Type.String({ description: 'The id of the credential' }),
    name: Type.String(),
    added_at: Type.String({ format: 'date-time' }),
    domain: Type.String({ description: 'It works only for this one (RP ID)' }),
  },
  { title: 'Passkey', additionalProperties: false },
)

export const passkeyBody = ({ id, name, addedAt, rpId }: Passkey) => ({
  id,
  name,
  added_at: new Date(addedAt).toISOString(),
  domain: rpId,
})

const name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '\\S',
  wellFormed: true,
  description: 'For the list of the user',
})

const PasskeyBody = Type.Object({ response: passkeyAnswer, name: Type.Optional(name) }, { title: 'NewPasskey' })
const NameBody = Type.Object({ name }, { title: 'PasskeyName' })

const OptionsSchema = Type.Object(
  {
    challenge: Type.String({ description: 'Works once, for five minutes, in this login' }),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    excludeCredentials: Type.Array(
      Type.Object({ type: Type.Literal('public-key'), id: Type.String(), transports: Type.Array(Type.String()) }),
    ),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Boolean({ description: 'For authenticators and browsers of Level 1' }),
      userVerification: Type.Literal('required'),
    }),
    attestation: Type.Literal('none'),
    extensions: Type.Object({ credProps: Type.Boolean() }),
    timeout: Type.Integer(),
  },
  { title: 'PasskeyCreation', additionalProperties: false },
)

/** The name of a new passkey: where it was made. */
function usualName({ browser, system }: ClientTraits): string {
  return [browser, system].filter((one) => one !== null).join(', ') || 'Passkey'
}

const passkeyId = Type.String({ pattern: '^[A-Za-z0-9_-]{1,2048}$' })

/** The refusals of a change of the own factors. */
export const level = ['SECOND_FACTOR_REQUIRED', 'FRESH_LOGIN_REQUIRED'] as const

export const addedFirst = 'Added. The first factor gives this login a new credential: a cookie, or `access_token`'

/** The passkeys of the own account. */
export const passkeyEndpoints: readonly Endpoint<PasskeyUse>[] = [
  endpoint(routes.factors.beginPasskey, {
    isBeforeFactor: true,
    operationId: 'factors:begin_passkey',
    summary: 'Begin to add a passkey (WebAuthn Level 3)',
    replies: { 200: { description: 'For `navigator.credentials.create`', body: OptionsSchema } },
    refusals: ['PASSKEYS_NOT_AVAILABLE', 'FACTOR_ALREADY_EXISTS', ...level],
    async handle({ by, request }, { beginPasskey, serviceName }: PasskeyUse) {
      const { challenge, rpId, handle, present } = await beginPasskey.execute({ by, client: request.caller.client })
      const { email } = by.user
      const body = {
        challenge,
        rp: { id: rpId, name: serviceName },
        user: { id: handle, name: email, displayName: email },
        pubKeyCredParams: passkeyAlgorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: present.map(({ id, transports }) => ({ type: 'public-key', id, transports })),
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
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
        description: addedFirst,
        body: Type.Object(
          {
            passkey: PasskeySchema,
            recovery_codes: Type.Array(Type.String(), { description: 'With the first factor' }),
            ...renewedToken,
          },
          { title: 'AddedPasskey', additionalProperties: false },
        ),
      },
    },
    refusals: ['SECOND_FACTOR_REFUSED', 'FACTOR_ALREADY_EXISTS', ...level],
    async handle({ by, body, request }, { addPasskey, backends }: PasskeyUse) {
      const { response, name = usualName(request.traits) } = body
      const added = await addPasskey.execute({ by, response, name, ...request })
      const { members, cookies } = renewed(added, transportOf(by, backends))
      const { passkey, recoveryCodes: recovery_codes } = added
      return { status: 200, body: { passkey: passkeyBody(passkey), recovery_codes, ...members }, cookies }
    },
  }),
  endpoint(routes.factors.renamePasskey, {
    operationId: 'factors:rename_passkey',
    summary: 'Rename a passkey',
    parameters: { id: passkeyId },
    body: NameBody,
    replies: { 204: { description: 'Renamed', body: null } },
    refusals: ['NOT_FOUND', ...level],
    async handle({ by, params: { id = '' }, body: { name }, request }, { changePasskey }: PasskeyUse) {
      await changePasskey.execute({ by, id, name, ...request })
      return { status: 204 }
    },
  }),
  endpoint(routes.factors.removePasskey, {
    operationId: 'factors:remove_passkey',
    summary: 'Remove a passkey. The recovery codes go with the last factor',
    parameters: { id: passkeyId },
    replies: { 204: { description: 'Removed', body: null } },
    refusals: ['NOT_FOUND', ...level],
    async handle({ by, params: { id = '' }, request }, { changePasskey }: PasskeyUse) {
      await changePasskey.execute({ by, id, name: null, ...request })
      return { status: 204 }
    },
  }),
]
