import { Type } from 'typebox'
import { Refusal } from '../../../domain/refusal.ts'
import { Invalid, Unreadable } from '../errors.ts'
import type { Reply } from '../reply.ts'

const codes = ['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type'] as const
type TokenErrorCode = (typeof codes)[number]

/** RFC 6749 section 5.2. */
export const TokenErrorBody = Type.Object(
  { error: Type.Enum([...codes]), error_description: Type.String({ description: 'For the developer of the app' }) },
  { title: 'TokenError', additionalProperties: false },
)

/** A fault of a token request. Its text repeats nothing of the request. */
export class TokenFault extends Error {
  override readonly name = 'TokenFault'
  readonly code: TokenErrorCode
  constructor(code: TokenErrorCode, description: string) {
    super(description)
    this.code = code
  }
}

export const wrongCode =
  'the code is unknown, expired or used, or it belongs to another client_id, redirect_uri or code_verifier'

/** The answer to a refused token request; `null` for anything else. */
export function tokenErrorReply(thrown: unknown): Reply | null {
  if (thrown instanceof TokenFault) return errorReply(400, thrown.code, thrown.message)
  if (thrown instanceof Invalid) return errorReply(400, 'invalid_request', 'a parameter is given more than once')
  if (thrown instanceof Unreadable) return errorReply(thrown.status, 'invalid_request', 'the body cannot be read')
  if (!(thrown instanceof Refusal)) return null
  const isUnverified = thrown.code === 'LOGIN_USER_NOT_VERIFIED'
  return errorReply(400, 'invalid_grant', isUnverified ? 'the address of the user is not verified' : wrongCode)
}

function errorReply(status: number, error: TokenErrorCode, description: string): Reply {
  return { status, body: { error, error_description: description } }
}
