import type { OAuthIdentity, ProviderTokens } from '../../domain/oauth-account.ts'

export interface CallbackParameters {
  readonly code: string
  readonly state: string
  /** The issuer of the response (RFC 9207). */
  readonly iss: string | null
  /** All parameters in their order, for providers that sign them. Without them such a provider refuses. */
  readonly all?: readonly (readonly [name: string, value: string])[] | undefined
}

export interface Journey {
  readonly redirectUri: string
  readonly codeVerifier: string
  readonly nonce: string
}

/**
 * The provider refuses this code, this refresh token, or us as a client. The message goes to the log, so it holds
 * nothing of the answer.
 */
export class CodeRefused extends Error {
  override readonly name = 'CodeRefused'
  /** The provider refuses us whatever we send: our id or secret is wrong, or we lack a permission. */
  readonly isAboutUs: boolean

  constructor(message: string, { isAboutUs = false }: { isAboutUs?: boolean } = {}) {
    super(message)
    this.isAboutUs = isAboutUs
  }
}

/**
 * The provider did not answer in time, or sent a wrong answer. The message goes to the log, so it holds nothing of the
 * answer.
 */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed'
}

export interface OAuthProvider {
  readonly name: string
  /** The allowed scopes. A request without scopes asks for all of them. */
  readonly scopes: readonly string[]

  /**
   * The address to redirect the browser to. State, redirect address, challenge and nonce appear once each, and scopes
   * cannot override them. Throws `ProviderFailed` when the address must be discovered first and that fails.
   */
  authorizationUrl(journey: Journey & { readonly state: string; readonly scopes: readonly string[] }): Promise<string>

  /**
   * Exchanges the code and reads the user's account. Throws `CodeRefused` for a 4xx of the token endpoint, except one
   * that asks for a later retry, and for an answer of another issuer. Throws `ProviderFailed` for every other fault.
   */
  identify(parameters: CallbackParameters, journey: Journey): Promise<OAuthIdentity>

  /** Gets a new access token. Without a new refresh token the old one stays. Throws like `identify`. */
  refresh(refreshToken: string): Promise<ProviderTokens>
}
