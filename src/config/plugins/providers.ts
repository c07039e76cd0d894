import { oauth2Kind } from '../../adapters/oauth/oauth2.ts'
import { openIdConnectKind } from '../../adapters/oauth/openid-connect-kind.ts'
import { appleKind } from '../../adapters/oauth/presets/apple.ts'
import { discordKind } from '../../adapters/oauth/presets/discord.ts'
import { facebookKind } from '../../adapters/oauth/presets/facebook.ts'
import { franceConnectKind } from '../../adapters/oauth/presets/franceconnect.ts'
import { githubKind } from '../../adapters/oauth/presets/github.ts'
import { gitlabKind } from '../../adapters/oauth/presets/gitlab.ts'
import { googleKind } from '../../adapters/oauth/presets/google.ts'
import { kakaoKind } from '../../adapters/oauth/presets/kakao.ts'
import { linkedinKind } from '../../adapters/oauth/presets/linkedin.ts'
import { microsoftKind } from '../../adapters/oauth/presets/microsoft.ts'
import { naverKind } from '../../adapters/oauth/presets/naver.ts'
import { oktaKind } from '../../adapters/oauth/presets/okta.ts'
import { redditKind } from '../../adapters/oauth/presets/reddit.ts'
import { shopifyKind } from '../../adapters/oauth/presets/shopify.ts'

/** Every kind of provider. */
export const providers = [
  oauth2Kind,
  openIdConnectKind,
  appleKind,
  discordKind,
  facebookKind,
  franceConnectKind,
  githubKind,
  gitlabKind,
  googleKind,
  kakaoKind,
  linkedinKind,
  microsoftKind,
  naverKind,
  oktaKind,
  redditKind,
  shopifyKind,
] as const

/** Whether providers of this kind use `response_mode=form_post`. */
export function postsCallback(kind: string): boolean {
  return providers.some((one) => one.kind === kind && 'postsCallback' in one)
}

/** A warning about options of a provider that have no effect or are a risk; `null` for none. */
export function doubtOf({ kind, ...options }: { readonly kind: string }): string | null {
  const found = providers.find((one) => one.kind === kind)
  if (found === undefined || !('doubt' in found)) return null
  return found.doubt(options as never) // safe: the options match the schema of this kind
}

/** The name of a provider for people, such as `GitHub`. */
export function titleOf(name: string): string {
  const { title } = providers.find(({ kind }) => kind === name) ?? {}
  return title ?? name.charAt(0).toUpperCase() + name.slice(1)
}
