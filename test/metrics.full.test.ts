import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect } from 'chai'
import { parse } from 'yaml'
import { scratchModule } from './adapters/events/scratch-module.ts'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, logInByCookie, register } from './support/http/client.ts'
import { projectFile } from './support/project/readme-blocks.ts'
import { type Acme, aPerson, startAcme } from './support/providers/acme.ts'
import { Browser } from './support/providers/oauth-browser.ts'
import { superuserToken } from './support/scenes/superuser.ts'
import { type FaultProxy, faultProxy } from './support/servers/fault-proxy.ts'
import { skipIfMissing } from './support/servers/obstacles.ts'
import { type PostgresServer, postgresObstacle, sharedPostgres } from './support/servers/postgres-server.ts'
import { needsPrometheus, type Prometheus, promtool, startPrometheus } from './support/servers/prometheus.ts'
import { type SmtpStandIn, startSmtp } from './support/servers/smtp.ts'
import { counted, metricsUrlIn, withMetrics } from './support/services/metrics.ts'
import { startTestService, type TestService } from './support/services/service.ts'
import { goodSecret } from './support/services/settings.ts'
import { needsRedisServer, type RedisServer, startRedis } from './support/stores/redis.ts'

interface Rule {
  readonly alert: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly steps: string }
}

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

const rulesFile = projectFile('deploy/prometheus-alerts.yml')
const rules: readonly Rule[] = parse(rulesFile).groups[0].rules
const dashboard: Dashboard = JSON.parse(projectFile('deploy/grafana-dashboard.json'))
const deployFolder = fileURLToPath(new URL('../deploy', import.meta.url))

/** As Grafana fills in the variables. */
const filledIn = (query: string): string => query.replaceAll('$job', 'portcullis').replaceAll('$__rate_interval', '1m')

/** Settings with these tenants. */
const tenants = (list: object = {}) => ({
  'portcullis.config.json': { tenants: { by: 'path', list: { default: {}, ...list } } },
})
const broken = { broken: { passwords: { minLength: 'many' } } }

const together = <T>(count: number, act: (number: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, number) => act(number)))

describe('the documents of the alerts', () => {
  it('have three first steps for each, and its row in the table at the top', () => {
    const sections = projectFile('docs/alerts.md').split(/^## /m)
    const [, table = ''] = projectFile('docs/operations.md').split(/^## /m)
    for (const { alert, labels, annotations } of rules) {
      const anchor = alert.toLowerCase()
      expect(annotations.steps).to.equal(`docs/alerts.md#${anchor}`)
      expect(table).to.include(`| [${alert}](alerts.md#${anchor}) | ${labels.severity} |`)
      const section = sections.find((one) => one.startsWith(`${alert}\n`)) ?? ''
      expect(section.match(/^\d\. /gm), alert).to.deep.equal(['1. ', '2. ', '3. '])
    }
    expect(table.match(/^\| \[/gm)).to.have.lengthOf(rules.length)
  })
})

describe('Prometheus', function () {
  this.timeout(300_000)
  const module = scratchModule(`export const on_after_update = () => { throw new Error('no') }`)
  let redis: RedisServer
  let proxy: FaultProxy
  let postgres: PostgresServer
  let smtp: SmtpStandIn
  let acme: Acme
  let service: TestService
  let prometheus: Prometheus
  let root = ''
  let session = ''

  before(async function () {
    needsPrometheus(this)
    needsRedisServer(this)
    skipIfMissing(this, postgresObstacle())
    postgres = await sharedPostgres()
    redis = await startRedis()
    proxy = await faultProxy(redis.port)
    acme = await startAcme()
    smtp = await startSmtp({
      onRecipient: (address) => (address.endsWith('.example.org') ? { status: 550, text: '5.1.1 nobody' } : null),
    })
    const url = `redis://127.0.0.1:${proxy.port}`
    const env = {
      ...withMetrics,
      ...acme.env(),
      PORTCULLIS_STORES__SESSIONS__KIND: 'redis',
      PORTCULLIS_STORES__SESSIONS__URL: url,
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1',
      PORTCULLIS_LIMITS__TOKEN_REQUESTS_PER_CLIENT: '2',
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '2',
      PORTCULLIS_PASSWORDS__CONCURRENCY: '1',
      PORTCULLIS_MAIL__URL: `smtp://127.0.0.1:${smtp.port}`,
      PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
    }
    service = await startTestService(env, { files: tenants() })
    root = await superuserToken(service.url, env, service.dataFolder)
    const target = new URL(metricsUrlIn(service.logLines) ?? '').host
    prometheus = await startPrometheus(target, rulesFile.replace(/for: \w+/g, 'for: 1s'))
  })
  after(async () => {
    await prometheus?.close()
    await service?.stop()
    await Promise.all([smtp?.kill(), acme?.close(), proxy?.close(), redis?.close()])
    module.remove()
  })

  /** The alerts that have fired until now. */
  async function fired(): Promise<string[]> {
    const found = await prometheus.query('count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[10m]))')
    return found.map(({ metric }) => metric.alertname ?? '')
  }

  const firing = (alert: string) => eventually(alert, async () => (await fired()).includes(alert), 90)

  async function causes(alert: string, cause: () => Promise<unknown>): Promise<void> {
    expect(await fired()).to.not.include(alert)
    await cause()
    await firing(alert)
  }

  /** A request whose answer may be any. */
  const ask = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init)

  const forgotPassword = (email: string, client: string) =>
    ask('/auth/forgot-password', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': client },
      body: JSON.stringify({ email }),
    })

  const withSession = () => ask('/users/me', { headers: { Cookie: session } })

  it('accepts the rules, the example of a configuration, and the names of the figures', async () => {
    expect(promtool(['check', 'rules', 'prometheus-alerts.yml'], { cwd: deployFolder })).to.include({ code: 0 })
    expect(promtool(['check', 'config', 'prometheus.yml'], { cwd: deployFolder })).to.include({ code: 0 })
    const text = await (await fetch(metricsUrlIn(service.logLines) ?? '')).text()
    // The names of the defaults of prom-client are not ours.
    const ours = text.split('\n').filter((line) => /^(# (HELP|TYPE) )?portcullis_/.test(line))
    const input = `${ours.join('\n')}\n`
    expect(promtool(['check', 'metrics'], { input })).to.deep.equal({ code: 0, output: '' })
  })

  it('has a series for each query of the dashboard, from a service under load', async () => {
    await register(service.url, 'ada@example.com')
    session = await logInByCookie(service.url, 'ada@example.com')
    await together(40, async (number) => {
      await call(service.url, 'GET', '/users/me', { bearer: root })
      await ask(`/nowhere/${number}`)
    })
    await logIn(service.url, 'ada@example.com')
    await smtp.mail(({ to }) => to.includes('ada@example.com'))

    const queries = dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))
    expect(queries.length).to.be.above(15)
    for (const { title, expr } of queries) {
      await eventually(`${title}: ${expr}`, async () => (await prometheus.query(filledIn(expr))).length > 0)
    }
    for (const { name, query } of dashboard.templating.list) {
      const [, selector] = /^label_values\((.*), job\)$/.exec(query) ?? []
      if (name !== 'job' || selector === undefined) continue
      const jobs = (await prometheus.query(selector)).map(({ metric }) => metric.job)
      expect(jobs).to.deep.equal(['portcullis'])
    }
  })

  it('raises PortcullisTenantDisabled for a tenant with wrong settings', async () => {
    await causes('PortcullisTenantDisabled', () => service.reload(tenants(broken)))
  })

  it('raises PortcullisForeignAccess for a right to read hashes in PostgreSQL', async () => {
    const users = { kind: 'postgres', url: await postgres.newDatabase() }
    const shared = { shared: { secret: goodSecret, stores: { users } } }
    const open = async () => {
      await service.reload(tenants(shared))
      expect((await ask('/t/shared/users/me')).status).to.equal(401)
    }
    await open()
    const series = 'portcullis_foreign_access{store="postgres",kind="reading"}'
    await counted(service.logLines, series, 0)
    const database = new URL(users.url).pathname.slice(1)
    await postgres.query(`GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO PUBLIC`, database)
    await causes('PortcullisForeignAccess', async () => {
      await service.reload(tenants())
      await open() // a look as that of the next hour
    })
    expect(service.logLines.join('')).to.match(
      /the role PUBLIC may SELECT on [^"]*portcullis\.user_private.*REVOKE SELECT ON /,
    )
  })

  it('raises PortcullisLimitsReached for a client that repeats a limited request', async () => {
    await causes('PortcullisLimitsReached', () =>
      together(110, () => forgotPassword('stranger@example.com', '203.0.113.1')),
    )
  })

  it('raises PortcullisProviderFailing while a provider answers with errors', async () => {
    acme.instead('token', { status: 503, body: { error: 'temporarily_unavailable' } })
    await causes('PortcullisProviderFailing', () => together(7, () => new Browser(service.url).travel(acme, aPerson())))
  })

  it('raises PortcullisEventsDead and PortcullisMailFailing for messages that the server refuses', async () => {
    expect(await fired()).to.not.include('PortcullisMailFailing')
    await causes('PortcullisEventsDead', async () => {
      for (let number = 0; number < 8; number++) await register(service.url, `nobody-${number}@mail.example.org`)
    })
    await firing('PortcullisMailFailing')
  })

  it('raises PortcullisEventsWaiting while a handler fails', async () => {
    await causes('PortcullisEventsWaiting', async () => {
      const users = [await register(service.url, 'busy@example.com'), await register(service.url, 'busier@example.com')]
      for (let time = 0; time < 60; time++) {
        const json = { is_verified: time % 2 === 0 }
        await Promise.all(users.map(({ id }) => call(service.url, 'PATCH', `/users/${id}`, { json, bearer: root })))
      }
    })
  })

  it('raises PortcullisErrors for a record that cannot be read', async () => {
    const { id } = await register(service.url, 'damaged@example.com')
    const file = new Database(`${service.dataFolder}/portcullis.sqlite`)
    file.prepare("UPDATE users SET document = '{' WHERE id = ?").run(id)
    file.close()
    expect(await fired()).to.not.include('PortcullisErrors')
    // Until it fires, because the first requests of an operation are no increase.
    await eventually('PortcullisErrors', async () => {
      const answers = await together(5, () => ask(`/users/${id}`, { headers: { Authorization: `Bearer ${root}` } }))
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([500]))
      return (await fired()).includes('PortcullisErrors')
    })
  })

  it('raises PortcullisStoreDown and PortcullisUnavailable while Redis is away', async () => {
    await causes('PortcullisStoreDown', async () => {
      await proxy.set('refuse')
      expect((await withSession()).status).to.equal(503)
    })
    await together(40, withSession)
    await firing('PortcullisUnavailable')
    await proxy.set('pass')
    await eventually('the session', async () => (await withSession()).status === 200)
    await eventually(
      'the end of the outage',
      async () => (await prometheus.query('portcullis_stores_down{store="redis"} == 0')).length > 0,
    )
  })

  it('raises PortcullisSlow and PortcullisStoreSlow while Redis takes more than a second', async () => {
    await proxy.set({ latency: 700 })
    for (let time = 0; time < 2; time++) await together(60, withSession)
    await firing('PortcullisSlow')
    await firing('PortcullisStoreSlow')
    await proxy.set('pass')
  })

  it('raises PortcullisHashQueueFull for more logins than there is time for', async () => {
    await causes('PortcullisHashQueueFull', () =>
      together(300, (number) =>
        ask('/auth/jwt/login', {
          method: 'POST',
          headers: { 'X-Forwarded-For': `198.51.100.${number % 250}` },
          body: new URLSearchParams({ username: `unknown-${number}@example.com`, password: goodPassword }),
        }),
      ),
    )
  })

  it('raises PortcullisDown when the service is gone', async () => {
    await service.stop()
    await firing('PortcullisDown')
  })

  it('has raised every alert', async () => {
    expect(await fired()).to.have.members(rules.map(({ alert }) => alert))
  })
})
