import { once } from 'node:events'
import { get } from 'node:http'
import { expect } from 'chai'
import { limitNames } from '../src/application/limits/counters.ts'
import { eventually } from './support/eventually.ts'
import { call, goodPassword, logIn, register } from './support/http/client.ts'
import { projectFile } from './support/project/readme-blocks.ts'
import { counted, metricsUrlIn, type Scrape, scrape, withMetrics } from './support/services/metrics.ts'
import { startTestService, type TestService } from './support/services/service.ts'

const wrongLogin = (service: TestService, username: string, client = '192.0.2.1') =>
  call(service.url, 'POST', '/auth/jwt/login', {
    form: { username, password: 'not the right one' },
    headers: { 'X-Forwarded-For': client },
  })

/** The values of a label. */
function valuesOf(series: Scrape, label: string): Set<string> {
  const found = [...series.keys()].map((one) => new RegExp(`[{,]${label}="([^"]*)"`).exec(one)?.[1])
  return new Set(found.filter((value) => value !== undefined))
}

describe('metrics', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({
      ...withMetrics,
      PORTCULLIS_METRICS__ALLOWED_HOSTS: 'scrape.internal',
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_EVENTS__RELAY: 'off',
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1',
      PORTCULLIS_LIMITS__PASSWORDS_PER_CLIENT: '2',
    })
  })
  after(() => service.stop())

  const metrics = () => scrape(service.logLines)
  const ours = (series: Scrape) => [...series.keys()].filter((one) => one.startsWith('portcullis_'))

  it('are off by default, and never on the port of the service', async () => {
    const usual = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    try {
      expect(metricsUrlIn(usual.logLines)).to.equal(null)
      for (const { url } of [usual, service]) expect((await fetch(`${url}/metrics`)).status).to.equal(404)
    } finally {
      await usual.stop()
    }
  })

  it('have a port of their own on loopback, which serves nothing else', async () => {
    const url = new URL(metricsUrlIn(service.logLines) ?? '')
    expect(url.hostname).to.equal('127.0.0.1')
    const answer = await fetch(url)
    expect([answer.status, answer.headers.get('Content-Type')]).to.deep.equal([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    for (const path of ['/', '/healthz', '/metrics/', '/metrics?a=b', '/users/me']) {
      expect((await fetch(new URL(path, url))).status, path).to.equal(404)
    }
    expect((await fetch(url, { method: 'POST', body: 'x' })).status).to.equal(404)
  })

  it('are refused by 421 to a name that a foreign page could have', async () => {
    const url = new URL(metricsUrlIn(service.logLines) ?? '')
    const statusFor = async (host: string): Promise<number | undefined> => {
      const [response] = await once(get(url, { headers: { Host: host } }), 'response')
      response.resume()
      return response.statusCode
    }
    const hosts = {
      200: [
        '127.0.0.1:9464',
        'localhost',
        'LOCALHOST:9464',
        'portcullis:9464',
        '[::1]:9464',
        '192.0.2.7',
        'Scrape.internal:1',
      ],
      421: [
        'evil.example',
        'evil.example:9464',
        '127.0.0.1.evil.example',
        'localhost.evil.example',
        '127.0.0.1.',
        'a@b.c',
        'internal.',
      ],
    }
    for (const [status, names] of Object.entries(hosts)) {
      for (const host of names) expect(await statusFor(host), host).to.equal(Number(status))
    }
  })

  it('begin with every known outcome, since the first point of a series is no increase', async () => {
    const series = await metrics()
    for (const limit of limitNames) expect(series.get(`portcullis_limits_reached_total{limit="${limit}"}`)).to.equal(0)
    for (const backend of ['jwt', 'cookie']) {
      expect(series.get(`portcullis_logins_total{backend="${backend}",outcome="provider_failed"}`)).to.equal(0)
    }
    expect(series.get('portcullis_mails_total{outcome="failed"}')).to.equal(0)
    expect(series.get('portcullis_delivery_failures_total{outcome="buried"}')).to.equal(0)
    expect(series.get('portcullis_store_unavailable_total{store="memory",records="users",operation="read"}')).to.equal(
      0,
    )
    expect(series.get('portcullis_stores_down{store="memory"}')).to.equal(0)
    expect(series.get('portcullis_hash_jobs_refused_total{reason="overload"}')).to.equal(0)
    expect(series.get('portcullis_hash_jobs{state="waiting"}')).to.equal(0)
  })

  it('count requests, logins, limits, events, operations of stores and tenants', async () => {
    await register(service.url, 'ada@example.com')
    await logIn(service.url, 'ada@example.com')
    const statuses = []
    for (let guess = 0; guess < 3; guess++) statuses.push((await wrongLogin(service, 'ada@example.com')).status)
    expect(statuses).to.deep.equal([400, 400, 429])

    const requests = 'portcullis_http_request_duration_seconds_count'
    await counted(service.logLines, `${requests}{operation="auth:jwt.login",code="429"}`, 1)
    const series = await metrics()
    expect(series.get(`${requests}{operation="register:register",code="201"}`)).to.equal(1)
    expect(series.get(`${requests}{operation="auth:jwt.login",code="200"}`)).to.equal(1)
    expect(series.get(`${requests}{operation="auth:jwt.login",code="400"}`)).to.equal(2)
    const logins = (outcome: string) => series.get(`portcullis_logins_total{backend="jwt",outcome="${outcome}"}`)
    expect(['success', 'refused', 'limited', 'failed'].map(logins)).to.deep.equal([1, 2, 1, 0])
    expect(series.get('portcullis_limits_reached_total{limit="passwordsPerClient"}')).to.equal(1)
    expect(series.get('portcullis_tenants{state="open"}')).to.equal(1)
    expect(series.get('portcullis_tenants{state="disabled"}')).to.equal(0)
    const writes = 'portcullis_store_operation_duration_seconds_count{store="memory",records="users",operation="write"}'
    expect(series.get(writes)).to.be.at.least(1)
  })

  it('count the events in the store', async () => {
    const fresh = await startTestService({
      ...withMetrics,
      PORTCULLIS_STORES__USERS__KIND: 'memory',
      PORTCULLIS_EVENTS__RELAY: 'off',
    })
    try {
      for (const name of ['ada', 'bob']) await register(fresh.url, `${name}@example.com`)
      const json = { email: 'ada@example.com' }
      expect((await call(fresh.url, 'POST', '/auth/forgot-password', { json })).status).to.equal(202)
      const series = await scrape(fresh.logLines)
      const undelivered = ['event', 'token_request'].map((kind) =>
        ['waiting', 'dead'].map((state) =>
          series.get(`portcullis_undelivered_events{kind="${kind}",state="${state}"}`),
        ),
      )
      expect(undelivered).to.deep.equal([
        [2, 0],
        [1, 0],
      ])
    } finally {
      await fresh.stop()
    }
  })

  it('count prefetches apart, which raise no alert about 503', async () => {
    for (const path of ['/account', '/users/me', '/nothing']) {
      expect((await fetch(`${service.url}${path}`, { headers: { 'Sec-Purpose': 'prefetch' } })).status).to.equal(503)
    }
    await atLeast('portcullis_http_request_duration_seconds_count{operation="prefetch",code="503"}', 3)
    expect(projectFile('deploy/prometheus-alerts.yml')).to.include('{code="503", operation!="prefetch"}')
  })

  it('get no series and no value of a label from paths, methods, addresses, clients and ids', async () => {
    const strange = async (number: number) => {
      const token = `canary-token-${number}-0123456789abcdef0123456789abcdef`
      const headers = { 'X-Request-Id': `canary-id-${number}`, 'X-Forwarded-For': `203.0.113.${number}` }
      await fetch(`${service.url}/canary-path-${number}?token=${token}`, { headers })
      await fetch(`${service.url}/users/canary-user-${number}`, {
        headers: { ...headers, Authorization: `Bearer ${token}` },
      })
      const method = ['PUT', 'OPTIONS', 'PROPFIND'][number % 3] ?? 'PUT'
      await fetch(`${service.url}/users/me`, { method, headers })
      await wrongLogin(service, `canary-${number}@example.com`, `203.0.113.${number}`)
    }
    await Promise.all([1, 2, 3].map(strange))
    const missed = 'portcullis_http_request_duration_seconds_count{operation="other",code="404"}'
    await atLeast(missed, 3)
    const before = await metrics()
    for (let number = 4; number <= 12; number += 3) await Promise.all([0, 1, 2].map((more) => strange(number + more)))
    await atLeast(missed, 12)
    const after = await metrics()
    expect(ours(after)).to.have.members(ours(before))
    const text = [...after.keys()].join('\n')
    for (const word of ['canary', '203.0.113', '192.0.2', 'example.com', goodPassword])
      expect(text).to.not.include(word)
    expect(valuesOf(after, 'tenant')).to.deep.equal(new Set())
  })

  async function atLeast(series: string, value: number): Promise<void> {
    await eventually(series, async () => ((await metrics()).get(series) ?? 0) >= value)
  }
})
