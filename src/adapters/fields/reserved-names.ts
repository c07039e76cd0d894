/** The names of our own fields in bodies, answers, changes and messages, and of our claims. */
const reserved = new Set([
  'id',
  'email',
  'password',
  'is_active',
  'inactive_until',
  'inactive_reason',
  'is_superuser',
  'is_verified',
  'current_password',
  'oauth_accounts',
  'created_at',
  'last_login',
  'factors',
  'previous_email',
  'password_removed',
  'logged_out_everywhere',
  'oauth_linked',
  'oauth_unlinked',
  'token',
  'code',
  'reason',
  'rule',
  'until',
  'invite',
  'iss',
  'sub',
  'aud',
  'exp',
  'nbf',
  'iat',
  'jti',
  'sid',
  'auth_time',
  'gen',
  'tenant',
  'client_id',
  'amr',
  'acr',
])

/** Whether a field of the deployer cannot have this name. Case and `_` do not count, because we write both `is_active` and `isActive`. */
export function isReserved(name: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll('_', '')
  return name in Object.prototype || [...reserved].some((one) => plain(one) === plain(name))
}
