import { createHash, randomBytes } from 'node:crypto'
import { type Answer, call } from '../http/client.ts'

/** An app as it begins a sign-in: with a verifier of its own (RFC 7636 section 4.1). */
export interface AppRequest {
  readonly client_id: string
  readonly redirect_uri: string
  readonly verifier: string
}

export function appRequest(client_id: string, redirect_uri: string): AppRequest {
  return { client_id, redirect_uri, verifier: randomBytes(32).toString('base64url') }
}

/** The path of the authorization request. `undefined` in `changes` removes a parameter. */
export function authorizePath(
  { client_id, redirect_uri, verifier }: AppRequest,
  changes: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = {
    response_type: 'code',
    client_id,
    redirect_uri,
    state: 'the state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...changes,
  }
  return `/account/authorize?${new URLSearchParams(givenOf(all))}`
}

/** Begins the sign-in in a browser with this cookie; answers the code. */
export async function codeOf(url: string, cookie: string, request: AppRequest): Promise<string> {
  const path = authorizePath(request)
  const query = path.slice(path.indexOf('?') + 1)
  const isDirect = request.redirect_uri.startsWith('https:')
  const answer = isDirect
    ? await call(url, 'GET', path, { cookie })
    : await call(url, 'POST', '/account/authorize/continue', { cookie, json: { query } })
  const to = isDirect ? answer.headers.get('Location') : (answer.body as { redirect_to?: string }).redirect_to // safe: 200 carries it
  const code = to == null ? null : new URL(to).searchParams.get('code')
  if (code === null) throw new Error(`the authorization answered ${answer.status} ${to} ${answer.text}`)
  return code
}

/** Redeems a code as its app does. `undefined` in `changes` removes a parameter. */
export function redeem(
  url: string,
  code: string,
  { client_id, redirect_uri, verifier }: AppRequest,
  changes: Readonly<Record<string, string | undefined>> = {},
): Promise<Answer> {
  const all = { grant_type: 'authorization_code', code, client_id, redirect_uri, code_verifier: verifier, ...changes }
  const form = givenOf(all)
  return call(url, 'POST', '/account/token', { form })
}

/** The token of a successful answer. */
export function tokenOf({ status, body, text }: Answer): string {
  if (status !== 200) throw new Error(`the token request answered ${status} ${text}`)
  return (body as { access_token: string }).access_token // safe: 200 carries a token
}

function givenOf(all: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
