import { expect } from 'chai'
import { adminRouter } from '../../../src/adapters/http/admin/admin-router.ts'
import { explainRouter } from '../../../src/adapters/http/admin/explain-router.ts'
import { appsRouter } from '../../../src/adapters/http/apps/apps-router.ts'
import { docsRouter } from '../../../src/adapters/http/docs/docs-page.ts'
import type { Router } from '../../../src/adapters/http/endpoint.ts'
import { consoleRouter } from '../../../src/adapters/http/pages/console/console-router.ts'
import { frontDoorRouter } from '../../../src/adapters/http/pages/front-door.ts'
import { mailboxRouter } from '../../../src/adapters/http/pages/mailbox-page.ts'
import { tryRouter } from '../../../src/adapters/http/pages/try-page.ts'
import { wellKnownRouter } from '../../../src/adapters/http/pages/well-known.ts'
import { authRouter } from '../../../src/adapters/http/routers/auth.ts'
import { checkPasswordRouter } from '../../../src/adapters/http/routers/check-password.ts'
import { checkResetRouter } from '../../../src/adapters/http/routers/check-reset.ts'
import { oauthRouter } from '../../../src/adapters/http/routers/oauth.ts'
import { oauthAssociateRouter } from '../../../src/adapters/http/routers/oauth-associate.ts'
import { operationsRouter } from '../../../src/adapters/http/routers/operations.ts'
import { ownDeletionRouter } from '../../../src/adapters/http/routers/own-deletion.ts'
import { ownExportRouter } from '../../../src/adapters/http/routers/own-export.ts'
import { secondFactorRouter } from '../../../src/adapters/http/routers/second-factor.ts'
import { userSearchRouter } from '../../../src/adapters/http/routers/user-search.ts'
import { pagePaths, routes } from '../../../src/adapters/http/routes.ts'
import { bearerTransport } from '../../../src/adapters/http/transports/bearer.ts'
import { routers } from '../../../src/config/plugins/routers.ts'

describe('the list of routes', () => {
  const backend = { name: 'any', transport: bearerTransport }
  const all = (): Readonly<Record<string, Router>> => ({
    auth: authRouter(backend),
    secondFactor: secondFactorRouter(backend),
    ...Object.fromEntries(routers.map(({ name, router }) => [name, router])),
    oauth: oauthRouter({ name: 'any', backend, postsCallback: true, hasFactors: true }),
    oauthAssociate: oauthAssociateRouter('any', true),
    checkReset: checkResetRouter,
    checkPassword: checkPasswordRouter,
    userSearch: userSearchRouter,
    explain: explainRouter,
    ownDeletion: ownDeletionRouter,
    ownExport: ownExportRouter,
    apps: appsRouter,
    admin: adminRouter,
    operations: operationsRouter(false),
  })

  it('has exactly the operations of the routers', () => {
    const operations = Object.entries(all()).map(([name, { endpoints }]) => [
      name,
      endpoints.map(({ method, path, access, limit }) => [method, path, access, ...(limit === null ? [] : [limit])]),
    ])
    const listed = Object.entries(routes).map(([name, own]) => [name, Object.values(own)])
    expect(Object.fromEntries(operations)).to.deep.equal(Object.fromEntries(listed))
  })

  it('has bodies whose schemas all tenants share, so that each is compiled once', () => {
    const bodies = () => Object.values(all()).flatMap(({ endpoints }) => endpoints.map(({ body }) => body))
    const again = bodies()
    for (const [index, body] of bodies().entries()) expect(body).to.equal(again[index])
  })

  it('has exactly the pages of the routers, whose paths no setting may take', () => {
    const site = {
      brand: '',
      login: '',
      users: '',
      resetPassword: null,
      verify: null,
      factors: null,
      canInvite: true,
      factorResetHours: 24,
      hasOwnPort: false,
    }
    const pages = {
      docs: docsRouter(null),
      try: tryRouter({ publicUrl: '', config: {} }),
      mailbox: mailboxRouter({ mailbox: { newestFirst: () => [] }, key: '' }),
      frontDoor: frontDoorRouter({ account: true, development: null }, ''),
      console: consoleRouter(site, {
        logo: { logo: null, logoDark: null, logoWithName: true },
        fields: [],
        publicUrl: 'http://localhost',
        needsSuperuser: async () => false,
      }),
      keys: wellKnownRouter({ issuer: '', published: async () => [], cacheSeconds: 0, signIn: null }),
    }
    const paths = Object.entries(pages).map(([name, { endpoints }]) => [name, endpoints.map(({ path }) => path)])
    const { account: _, ...listed } = pagePaths
    expect(Object.fromEntries(paths)).to.deep.equal(listed)
  })
})
