import type { OAuthIdentity, ProviderTokens } from '../../domain/oauth-account.ts'

/** What the browser brought back from the provider, as it came. */
export interface CallbackParameters {
  readonly code: string
  readonly state: string
  /** RFC 9207: who says it is answering. */
  readonly iss: string | null
  /** All that came, in its order, for providers that sign it. Without it they refuse. */
  readonly all?: readonly (readonly [name: string, value: string])[] | undefined
}

export interface Journey {
  readonly redirectUri: string
  readonly codeVerifier: string
  readonly nonce: string
}

/**
 * The provider does not want this code, or this refresh token, any more, or does not want us. The message goes to the
 * log: nothing of an answer is in it.
 */
export class CodeRefused extends Error {
  override readonly name = 'CodeRefused'
  /** It is we who are refused, whatever we bring: our id and secret are wrong, or what we ask for is not ours to ask. */
  readonly isAboutUs: boolean

  constructor(message: string, { isAboutUs = false }: { isAboutUs?: boolean } = {}) {
    super(message)
    this.isAboutUs = isAboutUs
  }
}

/** The provider did not answer in time, or nothing that makes sense. The message goes to the log: nothing of an answer is in it. */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed'
}

/** An OAuth 2.0 or OpenID Connect provider. */
export interface OAuthProvider {
  readonly name: string
  /** The scopes that may be asked for; all are when nobody says which. */
  readonly scopes: readonly string[]

  /**
   * Where the browser is sent. State, redirect address, challenge and nonce appear once each and cannot be
   * overridden by scopes. Throws `ProviderFailed` where the address has to be discovered first.
   */
  authorizationUrl(journey: Journey & { readonly state: string; readonly scopes: readonly string[] }): Promise<string>

  /**
   * Exchanges the code and asks who came. Throws `CodeRefused` for a 4xx of the token endpoint (but not for one that
   * says "later") or an answer of somebody else, `ProviderFailed` for everything else that goes wrong.
   */
  identify(parameters: CallbackParameters, journey: Journey): Promise<OAuthIdentity>

  /** A fresh access token. A provider that sends no new refresh token keeps the old one. Throws as `identify` does. */
  refresh(refreshToken: string): Promise<ProviderTokens>
}
