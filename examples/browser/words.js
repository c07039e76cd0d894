/** Messages for the error codes of the service, which docs/errors.md lists. */

/** The field and the message for each code in `detail`. `…` is replaced with the reason of the answer. */
const sayings = {
  LOGIN_BAD_CREDENTIALS: [null, 'The address or the password is wrong.'],
  LOGIN_USER_NOT_VERIFIED: [null, 'Please verify your address first.'],
  REGISTER_USER_ALREADY_EXISTS: ['email', 'There is an account with this address already.'],
  REGISTER_INVALID_PASSWORD: ['password', '…'],
  RESET_PASSWORD_BAD_TOKEN: ['token', 'This token does not work. Please ask for a new one.'],
  RESET_PASSWORD_INVALID_PASSWORD: ['password', '…'],
  VERIFY_USER_BAD_TOKEN: ['token', 'This token does not work. Please ask for a new one.'],
  VERIFY_USER_ALREADY_VERIFIED: ['token', 'This address is verified already.'],
  UPDATE_USER_INVALID_PASSWORD: ['password', '…'],
  UPDATE_USER_EMAIL_ALREADY_EXISTS: ['email', 'There is an account with this address already.'],
  UPDATE_USER_BAD_CURRENT_PASSWORD: ['current_password', 'This is not your current password.'],
  LOGIN_SECOND_FACTOR_REQUIRED: [null, 'This account has a second factor. Please sign in on the account pages.'],
  SECOND_FACTOR_REQUIRED: [null, 'This needs a sign-in with a second factor. Please add one on the account pages.'],
  FRESH_LOGIN_REQUIRED: [
    null,
    'Your login is too old for this. Please sign out and in again. For a new address or password, you can type your current password instead.',
  ],
  OAUTH_INVALID_STATE: [null, 'This attempt is too old, or began in another browser. Please try again.'],
  OAUTH_PROVIDER_ERROR: [null, 'The provider does not answer correctly. Please try again later.'],
  OAUTH_NOT_AVAILABLE_EMAIL: [null, 'The provider did not send your email address, and it is required here.'],
  OAUTH_USER_ALREADY_EXISTS: [
    null,
    'There is an account with your address already. Sign in to it, then link the provider there.',
  ],
  OAUTH_ACCOUNT_ALREADY_LINKED: [null, 'That account is linked to another user.'],
  OAUTH_SCOPE_NOT_ALLOWED: [null, 'The settings do not allow this scope.'],
  OAUTH_LAST_CREDENTIAL: [null, 'Without this link you could not sign in any more. Please set a password first.'],
  // The answer of a callback if the provider sends `error` or no code, or refuses the code.
  'Bad Request': [null, 'You cancelled, or the provider refused. Nothing has changed.'],
  Unauthorized: [null, 'Your session has ended. Please sign in again.'],
  'Not Found': [null, 'This no longer exists.'],
  Forbidden: [null, 'You may not do this.'],
  DELETE_USER_REFUSED: [null, '…'],
  PAYLOAD_TOO_LARGE: [null, 'This is too long.'],
  TOO_MANY_REQUESTS: [null, 'Too many attempts. Please try again later.'],
  INTERNAL_SERVER_ERROR: [null, 'Something went wrong in the service. Please try again later.'],
  SERVICE_UNAVAILABLE: [null, 'The service is busy. Please try again in a moment.'],
}

/** The message for each `type` of an item of a 422. */
const faults = {
  missing: 'Please fill this in.',
  literal_error: 'Please tick this box.',
  value_error: 'This is not a valid email address.',
}

/** An error for people: `message` concerns the whole form, `fields` has the message of each field. */
export class Problem extends Error {
  /** @param {string} code @param {string} message @param {Record<string, string>} fields */
  constructor(code, message, fields = {}) {
    super(message)
    this.code = code
    this.fields = fields
  }
}

/** @param {unknown} detail the member of the body of an answer */
export function problemOf(detail) {
  if (Array.isArray(detail)) {
    const fields = detail.map(({ type, loc, msg }) => [loc[1], faults[type] ?? msg])
    return new Problem('', '', Object.fromEntries(fields))
  }
  const { code, reason = '' } = typeof detail === 'object' && detail !== null ? detail : { code: detail }
  // A code may come from the address bar, so the page shows only known codes.
  if (!Object.hasOwn(sayings, String(code))) return new Problem('', 'That did not work, for an unknown reason.')
  const [field, saying] = sayings[code]
  const text = saying.replace('…', () => `${reason}.`)
  return field === null ? new Problem(code, text) : new Problem(code, '', { [field]: text })
}

export const unreachable = () => new Problem('', 'The service does not answer. Is it running?')
