// Who makes a request, by the accounts of Portcullis.
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'

const accounts = process.env.ACCOUNTS_URL ?? 'http://localhost:3000'
const issuer = process.env.ACCOUNTS_ISSUER // the claim iss of JWTs; without it, /users/me decides on each request
const audience = 'portcullis:auth' // backends.<name>.strategy.audience
const algorithms = ['EdDSA', 'ES256', 'RS256']

const keys = createRemoteJWKSet(new URL(`${accounts}/.well-known/jwks.json`), { timeoutDuration: 2000 })

/** jose takes the only key of a type for a token without `kid`. */
function keyOf(header, token) {
  if (header.kid === undefined) throw new errors.JWTInvalid('no kid')
  return keys(header, token)
}

/** The claims of an access token (RFC 9068), by the public keys. Throws if it is not valid, or if the keys cannot be read. */
export async function claimsOf(token) {
  const expected = { algorithms, issuer, audience, typ: 'at+jwt', requiredClaims: ['exp', 'sub'] }
  const { payload } = await jwtVerify(token, keyOf, expected)
  return payload
}

class AccountsUnavailable extends Error {
  status = 503
}

/** Errors of jose that say nothing about the token. Others are not of jose, such as those of fetch. */
const outages = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']

/** The user of a JWT, with its claims; a text for a login of a lower level. Nothing else of the user is known. */
async function userByKeys(token, level) {
  try {
    const claims = await claimsOf(token)
    if (level === 2 && claims.acr !== '2') return 'SECOND_FACTOR_REQUIRED'
    return { ...claims, id: claims.sub }
  } catch (error) {
    if (error instanceof errors.JOSEError && !outages.includes(error.code)) return null
    throw new AccountsUnavailable('the keys cannot be read', { cause: error })
  }
}

/** The user of any credential, with the members of GET /users/me, as they are now; a text if the answer refuses the login. */
async function userByQuestion({ authorization, cookie }, level) {
  if (!authorization && !cookie) return null
  const headers = { ...(authorization && { authorization }), ...(cookie && { cookie }) }
  const signal = AbortSignal.timeout(2000)
  const answer = await fetch(`${accounts}/users/me${level === 2 ? '?level=2' : ''}`, { headers, signal }).catch(
    (cause) => {
      throw new AccountsUnavailable('the accounts do not answer', { cause })
    },
  )
  if (answer.status === 401) return null
  if (answer.status === 403) return (await answer.json()).detail ?? 'Forbidden'
  if (answer.status !== 200) throw new AccountsUnavailable(`the accounts answer ${answer.status}`)
  return answer.json()
}

/**
 * Middleware that sets `req.user`, or answers 401 or 403. With `optional`, `req.user` may be `null`. With `level: 2`, the login needs
 * two factors. Throws for unknown demands, such as `Level` or the level `'2'`, which would let everybody in.
 */
export function currentUser(demands = {}) {
  const { verified = false, superuser = false, optional = false, level = 1, ...unknown } = demands
  if (typeof demands !== 'object' || ![1, 2].includes(level) || Object.keys(unknown).length > 0) {
    throw new TypeError('currentUser takes verified, superuser, optional, and level, which is 1 or 2')
  }
  return async (req, res, next) => {
    const [, token = ''] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? []
    const byKeys = issuer && token.split('.').length === 3 && !verified && !superuser
    const found = byKeys ? await userByKeys(token, level) : await userByQuestion(req.headers, level)
    const user = typeof found === 'string' ? null : found
    const lacks = user !== null && ((verified && !user.is_verified) || (superuser && !user.is_superuser))
    const refusal = lacks ? 'Forbidden' : typeof found === 'string' ? found : null
    req.user = lacks ? null : user
    if (req.user !== null || optional) return next()
    res.status(refusal === null ? 401 : 403).json({ detail: refusal ?? 'Unauthorized' })
  }
}
