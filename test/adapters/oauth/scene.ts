import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ProviderNeeds } from '../../../src/adapters/oauth/kind.ts'
import { openOutbound } from '../../../src/adapters/oauth/outbound.ts'
import type { CallbackParameters, OAuthProvider } from '../../../src/application/ports/oauth-provider.ts'
import type { OAuthIdentity } from '../../../src/domain/oauth-account.ts'
import { inTime } from '../../support/in-time.ts'
import type { FakeProvider } from '../../support/providers/fake-provider.ts'

export const now = new Date('2026-01-02T03:04:05Z')

/** Needs whose requests to any host go to `fake`. */
export function needsOf(fake: FakeProvider, clock = () => now): ProviderNeeds {
  return { name: 'acme', outbound: openOutbound(fake.connect), clock }
}

export function aJourney() {
  const random = () => randomBytes(32).toString('base64url')
  const redirectUri = 'https://us.example/auth/acme/callback'
  return { redirectUri, codeVerifier: random(), nonce: random(), state: random() }
}

/** Walks through a whole sign-in: to the provider, where the user agrees, and back. */
export async function signIn(
  provider: OAuthProvider,
  fake: FakeProvider,
  {
    iss = null,
    journey = aJourney(),
    add = () => ({}),
  }: {
    iss?: string | null
    journey?: ReturnType<typeof aJourney>
    /** Further claims of the provider. */
    add?: (back: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  } = {},
): Promise<OAuthIdentity> {
  const back = fake.approve(await provider.authorizationUrl({ ...journey, scopes: provider.scopes }))
  return await provider.identify(cameBack({ ...back, ...add(back) }, iss), journey)
}

/** The parameters of the callback. */
export function cameBack(
  back: Readonly<Record<string, string>> & { readonly code: string; readonly state: string },
  iss: string | null = null,
): CallbackParameters {
  return { code: back.code, state: back.state, iss, all: Object.entries(back) }
}

/** The error that `work` ends with. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work
  } catch (error) {
    expect(error).to.be.instanceOf(Error)
    return error as Error // safe: see above
  }
  throw new Error('it did not fail')
}

/** How many connections are open when they have had time to close. */
export async function connectionsLeft(fake: FakeProvider): Promise<number> {
  for (const deadline = performance.now() + inTime; fake.connections.size > 0 && performance.now() < deadline; ) {
    await sleep(20)
  }
  return fake.connections.size
}
