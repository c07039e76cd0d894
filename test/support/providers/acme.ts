import { randomBytes } from 'node:crypto'
import { type Answer, type Asked, type FakeProvider, type Reply, startFakeProvider } from './fake-provider.ts'

/** The profile of a user of the provider. */
export type Profile = Readonly<Record<string, unknown>>

/** A provider of plain OAuth 2.0 as the settings of the service know it, played on loopback. */
export interface Acme {
  readonly name: string
  readonly fake: FakeProvider
  /** Settings, as environment variables, of this provider; `more` over the usual, e.g. `{ BACKEND: 'cookie' }`. */
  env(more?: Readonly<Record<string, string>>): Record<string, string>
  /** Agrees as this user. Returns the query of the callback. */
  approve(authorizationUrl: string, profile: Profile): Back
  /** Requests at the token endpoint so far. */
  exchanges(): readonly Asked[]
  /** Every token it has given out. */
  readonly tokens: readonly string[]
  /** Added to the answers of the token endpoint. */
  readonly token: Record<string, unknown>
  /** In place of the token endpoint's or the profile's usual answer, until it is `null` again. */
  instead(endpoint: 'token' | 'profile', answer: Answer | null): void
  close(): Promise<void>
}

/** The query of the callback. */
export type Back = Readonly<Record<string, string>>

export async function startAcme(name = 'acme'): Promise<Acme> {
  const fake = await startFakeProvider()
  const host = new URL(fake.origin).host
  const profiles = new Map<string, Profile>()
  const tokens: string[] = []
  const token: Record<string, unknown> = { expires_in: 3600 }
  const aToken = (kind: string): string => {
    const made = `${name}-${kind}-${randomBytes(12).toString('hex')}`
    tokens.push(made)
    return made
  }
  /** By code, then by access token. */
  const remember = (from: string | null, to: string): void => {
    const profile = from === null ? undefined : profiles.get(from)
    if (profile !== undefined) profiles.set(to, profile)
  }
  const usual = {
    token(): void {
      fake.answerTokens(`${host}/token`, (asked) => {
        const accessToken = aToken('access')
        remember(asked.form.get('code'), accessToken)
        return { access_token: accessToken, refresh_token: aToken('refresh'), token_type: 'Bearer', ...token }
      })
    },
    profile(): void {
      fake.answer(`${host}/profile`, (asked: Asked): Reply => {
        const profile = profiles.get(asked.headers.authorization?.replace(/^Bearer /, '') ?? '')
        return profile === undefined ? { status: 401, body: { error: 'invalid_token' } } : { body: profile }
      })
    },
  }
  usual.token()
  usual.profile()

  return {
    name,
    fake,
    tokens,
    token,
    env(more = {}) {
      const options = {
        KIND: 'oauth2',
        CLIENT_ID: `client-of-${name}`,
        CLIENT_SECRET: `secret-of-${name}`,
        AUTHORIZE_URL: `${fake.origin}/authorize`,
        TOKEN_URL: `${fake.origin}/token`,
        PROFILE_URL: `${fake.origin}/profile`,
        SCOPES: 'email,profile',
        ...more,
      }
      return Object.fromEntries(
        Object.entries(options).map(([key, value]) => [`PORTCULLIS_PROVIDERS__${name.toUpperCase()}__${key}`, value]),
      )
    },
    approve(authorizationUrl, profile) {
      const back = fake.approve(authorizationUrl)
      profiles.set(back.code, profile)
      return back
    },
    exchanges: () => fake.asked.filter(({ address }) => address === `${host}/token`),
    instead(endpoint, answer) {
      if (answer === null) usual[endpoint]()
      else fake.answer(`${host}/${endpoint}`, answer)
    },
    close: () => fake.close(),
  }
}

let people = 0

/** A new user of a provider, which vouches for the address. */
export function aPerson(more: Profile = {}): { readonly id: string; readonly email: string } & Profile {
  const number = ++people
  return { id: `account-${number}`, email: `person-${number}@example.com`, email_verified: true, ...more }
}
