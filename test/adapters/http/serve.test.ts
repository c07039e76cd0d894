import { createServer } from 'node:http'
import { expect } from 'chai'
import Koa from 'koa'
import { endpoint, type Incoming } from '../../../src/adapters/http/endpoint.ts'
import { routeTable } from '../../../src/adapters/http/pipeline/route-table.ts'
import { type RoutesNeeds, routesOf } from '../../../src/adapters/http/pipeline/serve.ts'
import { unlimited } from '../../../src/application/limits/limits.ts'
import { noFieldRules } from '../../../src/domain/fields.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import { unknownTraits } from '../../../src/domain/session.ts'
import { listen } from '../../support/servers/ports.ts'

describe('an operation', () => {
  it('knows its caller, whether or not it has a limit', async () => {
    const caller = { client: '192.0.2.1', device: 'a device' }
    const answer = {
      operationId: 'who',
      summary: 'Tell the caller',
      handle: async ({ request }: Pick<Incoming<null, null, null>, 'request'>) => ({
        status: 200,
        body: request.caller,
      }),
    } as const
    const endpoints = [
      endpoint(['GET', '/unlimited', 'public'], answer),
      endpoint(['GET', '/limited', 'public', 'registrations'], answer),
    ]
    const needs: RoutesNeeds = {
      usesCookies: false,
      identify: () => Promise.reject(new Refusal('UNAUTHORIZED')),
      requireLevel() {},
      pageOrigins: new Set(),
      ownOrigins: new Set(),
      allowedOrigins: new Set(),
      callerOf: () => caller,
      formed: (answer) => answer(),
      fieldRules: noFieldRules,
      traitsOf: () => unknownTraits,
      limits: unlimited,
      removeRepeated: async () => [],
      administration: { reachesConsole: () => true, requireSuperuser() {}, lackOf: () => null },
    }
    const routes = routeTable(routesOf({ tag: 'who', prefix: '', endpoints }, null, needs))
    const server = createServer(new Koa().use((ctx) => routes.answer(ctx, async () => undefined)).callback())
    const url = `http://localhost:${await listen(server)}`
    try {
      for (const { path } of endpoints) expect(await (await fetch(url + path)).json(), path).to.deep.equal(caller)
    } finally {
      server.close()
    }
  })
})
