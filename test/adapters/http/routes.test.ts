import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { docsRouter } from '../../../src/adapters/http/docs/docs-page.ts'
import type { Router } from '../../../src/adapters/http/endpoint.ts'
import { consoleRouter } from '../../../src/adapters/http/pages/console/console-router.ts'
import { frontDoorRouter } from '../../../src/adapters/http/pages/front-door.ts'
import { mailboxRouter } from '../../../src/adapters/http/pages/mailbox-page.ts'
import { tryRouter } from '../../../src/adapters/http/pages/try-page.ts'
import { wellKnownRouter } from '../../../src/adapters/http/pages/well-known.ts'
import { operationsRouter } from '../../../src/adapters/http/routers/operations.ts'
import { pagePaths, routes } from '../../../src/adapters/http/routes.ts'
import { loadedCode, routerOf } from '../../../src/config/composition/routers.ts'
import { mountsOf } from '../../../src/config/settings/mounts.ts'
import type { Settings } from '../../../src/config/settings/schema/schema.ts'
import { settingsFolder } from '../../support/services/settings.ts'

describe('the list of routes', () => {
  const folder = settingsFolder()
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const everything = {
    routers: { factors: { enabled: true } },
    users: { search: true, selfDeletion: true, selfExport: true },
    admin: { enabled: true },
    apps: { acme: { redirectUris: ['https://acme.example/back'], backend: 'jwt' } },
    providers: { apple: { kind: 'apple', clientId: 'id', teamId: 'A'.repeat(10), keyId: 'A'.repeat(10), privateKey } },
  }
  /** The routers of the API at their mounts. */
  const routersOf = async (settings: Settings) => {
    const code = await loadedCode(settings)
    const api = mountsOf(settings).flatMap((mount) => {
      const router = routerOf(mount, settings, code)
      return router === null ? [] : [[mount.part, router] as const]
    })
    return new Map<string, Router>([...api, ['operations', operationsRouter(false)]])
  }

  it('has exactly the operations of the routers, and no part without a mount', async () => {
    const { settings } = await folder.load(everything)
    const operations = [...(await routersOf(settings))].map(([part, { endpoints }]) => [
      part,
      endpoints.map(({ method, path, access, limit }) => [method, path, access, ...(limit === null ? [] : [limit])]),
    ])
    const listed = Object.entries(routes).map(([name, own]) => [name, Object.values(own)])
    expect(operations).to.have.deep.members(listed)
    expect(new Set(mountsOf(settings).map(({ part }) => part))).to.have.keys(Object.keys({ ...routes, ...pagePaths }))
  })

  it('has bodies whose schemas all tenants share, so that each is compiled once', async () => {
    const { settings } = await folder.load(everything)
    const bodies = async () =>
      [...(await routersOf(settings)).values()].flatMap(({ endpoints }) => endpoints.map(({ body }) => body))
    const again = await bodies()
    for (const [index, body] of (await bodies()).entries()) expect(body).to.equal(again[index])
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
