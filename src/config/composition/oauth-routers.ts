import type { Container } from 'inversify'
import type { Router } from '../../adapters/http/endpoint.ts'
import type { MountedProvider } from '../../adapters/http/oauth/mounted-provider.ts'
import { oauthRouter } from '../../adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../adapters/http/routers/oauth-associate.ts'
import type { HttpBackend } from '../../adapters/http/transports/http-backend.ts'
import { FinishOAuth } from '../../application/oauth/finish-oauth.ts'
import { LinkOAuth } from '../../application/oauth/link-oauth.ts'
import { StartOAuth } from '../../application/oauth/start-oauth.ts'
import { UnlinkOAuth } from '../../application/oauth/unlink-oauth.ts'
import type { Settings } from '../settings/schema/schema.ts'
import { Vault } from './tokens.ts'

/** The two routers of every provider: to sign in, and to link accounts. */
export function oauthRoutersOf(
  settings: Settings,
  container: Container,
  backends: readonly HttpBackend[],
  providers: ReadonlyMap<string, MountedProvider>,
): Router[] {
  return [...providers].flatMap(([name, mounted]) => {
    const provider = settings.providers[name]
    const backend = backends.find((one) => one.name === provider?.backend)
    if (provider === undefined || backend === undefined) throw new Error(`the provider ${name} has no backend`)
    const startOAuth = container.get(StartOAuth)
    return [
      oauthRouter({ startOAuth, finishOAuth: container.get(FinishOAuth), mounted, backend, prefix: provider.prefix }),
      oauthAssociateRouter({
        startOAuth,
        linkOAuth: container.get(LinkOAuth),
        unlinkOAuth: container.get(UnlinkOAuth),
        vault: container.get(Vault),
        mounted,
        prefix: provider.associatePrefix,
      }),
    ]
  })
}
