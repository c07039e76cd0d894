import Type from 'typebox'

const figure = (standard: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 1_000_000, default: standard, description })

export const limits = Type.Object({
  enabled: Type.Boolean({ default: true, description: 'Limits guessing and floods (`docs/limits.md`).' }),
  passwordsPerClient: figure(100, 'Wrong passwords of one client in 10 minutes.'),
  passwordsBeforePauses: figure(
    5,
    'Wrong passwords of one client for one account, after which it has to pause for 1, 2, 4 … seconds.',
  ),
  longestPauseSeconds: figure(60, 'Longest of these pauses.'),
  passwordsPerAccount: figure(
    100,
    'Wrong passwords for one account in an hour, over all clients without a device cookie.',
  ),
  passwordsPerDevice: figure(10, 'Wrong passwords for one account in an hour from a browser with its device cookie.'),
  registrationsPerClient: figure(100, 'Registrations of one client in an hour.'),
  tokenRequestsPerClient: figure(
    100,
    'Requests for reset or verification tokens, and for new addresses of the own account, of one client in an hour.',
  ),
  wrongTokensPerClient: figure(60, 'Wrong reset or verification tokens of one client in 10 minutes.'),
  oauthRequestsPerClient: figure(
    300,
    'Requests of one client to begin or finish a sign-in at a provider, in 10 minutes.',
  ),
  tokensPerAddress: figure(
    5,
    'Tokens of each kind, and notices of new sign-ins, for one address in an hour. Further requests get the same answer, and nothing is sent.',
  ),
})
