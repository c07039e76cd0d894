/**
 * The code of fastapi-users for a state of no journey under way. Its states were JWTs (RFC 7519), which name their end in the
 * claim `exp`. The signature does not matter, because the state is refused in any case.
 */
export function stateCode(state: string, isExpired: boolean): string {
  return isExpired || isExpiredJwt(state) ? 'ACCESS_TOKEN_ALREADY_EXPIRED' : 'ACCESS_TOKEN_DECODE_ERROR'
}

function isExpiredJwt(state: string): boolean {
  const [, payload = ''] = state.split('.')
  try {
    const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return typeof exp === 'number' && exp * 1000 <= Date.now()
  } catch {
    return false
  }
}
