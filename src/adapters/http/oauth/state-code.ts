/**
 * The code of fastapi-users for a state of no journey under way. Its states were JWTs (RFC 7519), which name their end in the
 * claim `exp`. The signature does not matter, because the state is refused in any case.
 */
export function stateCode(state: string, isExpired: boolean): string {
  if (isExpired || isExpiredJwt(state)) return 'ACCESS_TOKEN_ALREADY_EXPIRED'
  return ofThisService.test(state) ? 'OAUTH_INVALID_STATE' : 'ACCESS_TOKEN_DECODE_ERROR'
}

/** The form of `newToken`. Such a state was used, or its journey began in another browser. */
const ofThisService = /^[\w-]{43}$/

function isExpiredJwt(state: string): boolean {
  const [, payload = ''] = state.split('.')
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return typeof exp === 'number' && exp * 1000 <= Date.now()
  } catch {
    return false
  }
}
