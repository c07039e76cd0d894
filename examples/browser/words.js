/** What the service's answers mean to people. Codes: docs/errors.md. */

/** By the code in `detail`: the field it is about, if any, and what to say. `…` stands for the reason that came along. */
const sayings = {
  LOGIN_BAD_CREDENTIALS: [null, 'The address or the password is wrong.'],
  LOGIN_USER_NOT_VERIFIED: [null, 'Please verify your address first.'],
  REGISTER_USER_ALREADY_EXISTS: ['email', 'There is an account with this address already.'],
  REGISTER_INVALID_PASSWORD: ['password', '…'],
  RESET_PASSWORD_BAD_TOKEN: ['token', 'This token does not work, or does not any more. Please ask for a new one.'],
  RESET_PASSWORD_INVALID_PASSWORD: ['password', '…'],
  VERIFY_USER_BAD_TOKEN: ['token', 'This token does not work, or does not any more. Please ask for a new one.'],
  VERIFY_USER_ALREADY_VERIFIED: ['token', 'This address is verified already.'],
  UPDATE_USER_INVALID_PASSWORD: ['password', '…'],
  UPDATE_USER_EMAIL_ALREADY_EXISTS: ['email', 'There is an account with this address already.'],
  UPDATE_USER_BAD_CURRENT_PASSWORD: ['current_password', 'This is not your current password.'],
  FRESH_LOGIN_REQUIRED: ['current_password', 'For this, please type your current password, too.'],
  OAUTH_INVALID_STATE: [null, 'This attempt is too old, or was begun in another browser. Please try again.'],
  OAUTH_PROVIDER_ERROR: [null, 'The provider does not answer as it should. Please try again later.'],
  OAUTH_NOT_AVAILABLE_EMAIL: [null, 'The provider did not tell your e-mail address, which is needed here.'],
  OAUTH_USER_ALREADY_EXISTS: [
    null,
    'There is an account with your address already. Sign in to it, then link the provider there.',
  ],
  OAUTH_ACCOUNT_ALREADY_LINKED: [null, 'That account is linked to somebody else here.'],
  OAUTH_SCOPE_NOT_ALLOWED: [null, 'The settings do not allow to ask for that.'],
  OAUTH_LAST_CREDENTIAL: [null, 'Without this link you could not sign in any more. Please set a password first.'],
  // What a callback answers when the provider sends `error` or no code, and when it refuses the code.
  'Bad Request': [null, 'It was cancelled, or the provider refused. Nothing has changed.'],
  Unauthorized: [null, 'Your session has ended. Please sign in again.'],
  'Not Found': [null, 'This does not exist any more.'],
  Forbidden: [null, 'You may not do this.'],
  DELETE_USER_REFUSED: [null, '…'],
  PAYLOAD_TOO_LARGE: [null, 'This is too long.'],
  TOO_MANY_REQUESTS: [null, 'That was too often. Please wait for a minute and try again.'],
  INTERNAL_SERVER_ERROR: [null, 'Something went wrong in the service. Please try again later.'],
  SERVICE_UNAVAILABLE: [null, 'The service is busy. Please try again in a moment.'],
}

/** By the `type` of one item of a 422. */
const faults = {
  missing: 'Please fill this in.',
  value_error: 'This is not a valid e-mail address.',
}

/** What went wrong, in words: `message` for the whole, `fields` by the names of the fields they are about. */
export class Problem extends Error {
  /** @param {string} code @param {string} message @param {Record<string, string>} fields */
  constructor(code, message, fields = {}) {
    super(message)
    this.code = code
    this.fields = fields
  }
}

/** @param {unknown} detail of an answer's body */
export function problemOf(detail) {
  if (Array.isArray(detail)) {
    const fields = detail.map(({ type, loc, msg }) => [loc[1], faults[type] ?? msg])
    return new Problem('', '', Object.fromEntries(fields))
  }
  const { code, reason = '' } = typeof detail === 'object' && detail !== null ? detail : { code: detail }
  // A code may come from the address bar: only what is known is shown.
  if (!Object.hasOwn(sayings, String(code))) return new Problem('', 'That did not work, and it is not clear why.')
  const [field, saying] = sayings[code]
  const text = saying.replace('…', () => `${reason}.`)
  return field === null ? new Problem(code, text) : new Problem(code, '', { [field]: text })
}

export const unreachable = () => new Problem('', 'The service does not answer. Is it running?')
