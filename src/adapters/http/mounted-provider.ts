import type { OAuthPolicy } from '../../application/finish-oauth.ts'
import type { Claim, Return } from '../../application/oauth-journey.ts'
import { CodeRefused, type OAuthProvider, ProviderFailed } from '../../application/ports/oauth-provider.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { QueryParameter } from './endpoint.ts'
import { statusOf } from './errors.ts'
import type { OAuthBrowser } from './oauth-browser.ts'
import type { Reply } from './reply.ts'

/** A provider as the settings mount it. */
export interface MountedProvider {
  readonly provider: OAuthProvider
  readonly policy: OAuthPolicy
  /** Where the provider sends the browser: our callback, or a page of the front end. Known once the service listens. */
  readonly redirectUri: (flow: 'login' | 'link') => string
  /** Pages to go on to, in place of a JSON answer. */
  readonly redirects: { readonly success?: string; readonly linked?: string; readonly failure?: string }
  readonly browser: OAuthBrowser
  /** The provider posts its callback (`response_mode=form_post`). */
  readonly postsCallback: boolean
  /** Tells the operator why the provider refused or could not be used; whoever wants to sign in learns only that. */
  readonly report: (failure: CodeRefused | ProviderFailed, requestId: string) => void
}

export const scopesParameter: QueryParameter = {
  name: 'scopes',
  description: 'Scopes to ask for, of those set up; all of them when there is none',
  isRepeated: true,
}

export const callbackParameters: readonly QueryParameter[] = [
  { name: 'code', description: 'As the provider gave it' },
  { name: 'state', description: 'As the authorization URL had it' },
  { name: 'error', description: 'As the provider gave it; never repeated in the answer' },
  { name: 'iss', description: 'Who answers (RFC 9207)' },
]

export function scopesOf(query: URLSearchParams): readonly string[] | null {
  const scopes = query.getAll('scopes')
  return scopes.length === 0 ? null : scopes
}

/**
 * A parameter that is there twice counts as missing: which of the two was meant is anybody's guess. Two issuers mean
 * that no code is to be sent to either.
 */
export function returnOf(query: URLSearchParams): Return {
  const only = (name: string): string | null => {
    const values = query.getAll(name)
    return values.length === 1 ? values[0] || null : null
  }
  const code = query.getAll('iss').length > 1 ? null : only('code')
  return { code, state: only('state'), error: query.get('error'), iss: only('iss'), all: [...query] }
}

export function claimOf(
  { provider, browser }: MountedProvider,
  cookie: string | undefined,
): Omit<Claim, 'flow' | 'userId'> {
  return { provider, browserOf: (state) => browser.valueOf(state, cookie) }
}

/** Reports what goes wrong at the provider meanwhile. */
export async function reporting<T>({ report }: MountedProvider, requestId: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (thrown) {
    const cause = thrown instanceof Refusal ? thrown.cause : null
    if (cause instanceof ProviderFailed || cause instanceof CodeRefused) report(cause, requestId)
    throw thrown
  }
}

/** The reply of a callback, or a redirect to the page that the deployer named for it; the journey's cookie goes. */
export async function arrive(
  mounted: MountedProvider,
  { query, requestId }: { readonly query: URLSearchParams; readonly requestId: string },
  page: string | undefined,
  act: () => Promise<Reply>,
): Promise<Reply> {
  const { browser, redirects } = mounted
  const ended = browser.end(query.get('state') ?? '')
  const withEnd = (reply: Reply): Reply => ({ ...reply, cookies: [...(reply.cookies ?? []), ...ended] })
  try {
    const reply = await reporting(mounted, requestId, act)
    return withEnd(page === undefined ? reply : { ...seeOther(page), cookies: reply.cookies ?? [] })
  } catch (thrown) {
    if (redirects.failure === undefined || !(thrown instanceof Refusal)) throw thrown
    return withEnd(seeOther(withError(redirects.failure, thrown)))
  }
}

function withError(page: string, refusal: Refusal): string {
  const url = new URL(page)
  const { detail } = statusOf[refusal.code]
  url.searchParams.set('error', typeof detail === 'object' ? detail.text : refusal.code)
  return url.href
}

function seeOther(location: string): Reply {
  return { status: 303, headers: { Location: location } }
}
