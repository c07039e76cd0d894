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

/** The user of a JWT, with its claims. Nothing else of the user is known. */
async function userByKeys(token) {
  try {
    const claims = await claimsOf(token)
    return { ...claims, id: claims.sub }
  } catch (error) {
    if (error instanceof errors.JOSEError && !outages.includes(error.code)) return null
    throw new AccountsUnavailable('the keys cannot be read', { cause: error })
  }
}

/** The user of any credential, with the members of GET /users/me, as they are now. */
async function userByQuestion({ authorization, cookie }) {
  if (!authorization && !cookie) return null
  const headers = { ...(authorization && { authorization }), ...(cookie && { cookie }) }
  const signal = AbortSignal.timeout(2000)
  const answer = await fetch(`${accounts}/users/me`, { headers, signal }).catch((error) => error)
  if (answer.status === 401) return null
  if (answer.status !== 200) throw new AccountsUnavailable(`the accounts do not answer: ${answer.status}`)
  return answer.json()
}

/** Middleware that sets `req.user`, or answers 401 or 403. With `optional`, `req.user` may be `null`. */
export function currentUser({ verified = false, superuser = false, optional = false } = {}) {
  return async (req, res, next) => {
    const [, token = ''] = /^bearer +(\S+)$/i.exec(req.headers.authorization ?? '') ?? []
    const byKeys = issuer && token.split('.').length === 3 && !verified && !superuser
    const user = byKeys ? await userByKeys(token) : await userByQuestion(req.headers)
    const lacks = user !== null && ((verified && !user.is_verified) || (superuser && !user.is_superuser))
    req.user = lacks ? null : user
    if (req.user !== null || optional) return next()
    res.status(lacks ? 403 : 401).json({ detail: lacks ? 'Forbidden' : 'Unauthorized' })
  }
}
