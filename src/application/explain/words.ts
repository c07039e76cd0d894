import type { Cause, CauseCode } from './causes.ts'

/** A sentence for each cause, and the next step. */
const sentences: Readonly<Record<CauseCode, string>> = {
  no_account:
    'Nobody has this address. The person may have another one here: user list --search <part of the address>.',
  inactive: 'The account is disabled{until}{detail}. If the person may log in, enable it: user enable <who>.',
  mail_failed:
    'A message with a link was not delivered{detail}. If the server refused the address (RCPT TO), correct it by user set-email <who> <address>, and send the link again. Otherwise mend mail.url, try it by mail test --to <address>, then run events retry --all.',
  mail_waits:
    'A message with a link waits, because the server has not taken it yet{detail}. It is tried again by itself. If that goes on, try the server by mail test --to <address>.',
  not_verified:
    'The address is not verified, and a login demands it (requiresVerification). The person asks for the link again, or run user verify <who>.',
  limit_reached:
    'limits.{limit} was reached{until}. It ends by itself; user show <who> --client <IP address> has the counters.',
  clock_was_ahead:
    'The clock of the service was ahead when this person used the last code, so each code is refused{until}. It ends by itself. A recovery code helps, or user factors reset <who>.',
  second_factor_wrong:
    'The password was right, and the second factor was wrong{count}. A recovery code helps, or user factors reset <who>.',
  second_factor_asked:
    'The password was right, and the login ended before the second factor was shown. A recovery code helps, or user factors reset <who>.',
  factor_reset: 'A reset of the second factors waits{until}. Then the person logs in without them.',
  second_factor_missing:
    'The settings demand a second factor of this person, who has none (security.secondFactor). After the login, the person can only add one, at /account.',
  wrong_password:
    'The password was wrong{count}{pause}. The person asks for a link to choose a new one, or run user reset-link <who>.',
  no_password:
    'There is no password: the person signs in at a provider or by a passkey alone. To give the person one, run user reset-link <who>.',
  no_way_in:
    'The person has not chosen a password yet, as after an invitation. Send the link again, which verifies the address, too: user invite <who>.',
  passkey_refused: 'A passkey was refused{count}. It may have been removed here, or be of another domain.',
  provider_not_linked:
    'An account at {provider} has this address and is not linked. Sign in with the password first, then link it.',
  provider_refused: 'A sign-in at {provider} was refused. Its reason is in the log.',
  unavailable: 'The service was overloaded, or a store did not answer. The log has the reason.',
  nothing_found: 'Nothing stands in the way of a login now.',
}

/** A cause as an English sentence. */
export function sentenceOf({ code, detail, until, count }: Cause): string {
  const values: Readonly<Record<string, string>> = {
    detail: detail === null ? '' : ` (${detail.replace(/\s+/g, ' ')})`,
    limit: detail ?? '',
    provider: detail ?? 'a provider',
    until: until === null ? '' : ` until ${until.toISOString()}`,
    pause: detail === 'passwordsBeforePauses' ? ', and the client had to pause' : '',
    count: count > 1 ? ` ${count} times` : '',
  }
  return sentences[code].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
}
