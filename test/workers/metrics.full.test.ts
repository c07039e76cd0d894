import { createServer } from 'node:net'
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { register } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { listen } from '../support/servers/ports.ts'
import { counted, metricsUrlIn, scrape, withMetrics } from '../support/services/metrics.ts'
import { scratchFolder, spawnService, spawnWorker } from '../support/services/spawned-service.ts'

describe('the metrics of a worker', () => {
  it('count its deliveries and the events in the store, and no requests', async () => {
    const folder = scratchFolder()
    const service = await spawnService({ ...withMetrics, PORTCULLIS_EVENTS__RELAY: 'off' }, folder)
    await register(service.url, 'ada@example.com')
    await counted(service.errors, 'portcullis_undelivered_events{kind="event",state="waiting"}', 1)

    const worker = await spawnWorker(withMetrics, folder)
    await eventually('the event', () => worker.events.length === 1)
    await counted(worker.errors, 'portcullis_undelivered_events{kind="event",state="waiting"}', 0)
    const series = await scrape(worker.errors)
    expect(series.get('portcullis_delivery_failures_total{outcome="postponed"}')).to.equal(0)
    const operations = 'portcullis_store_operation_duration_seconds_count{store="sqlite",records="events"'
    expect(series.get(`${operations},operation="write"}`)).to.be.at.least(2)
    expect([...series.keys()].filter((one) => one.includes('http_request'))).to.deep.equal([])
    expect([...series.keys()].join('\n')).to.not.include('ada@example.com')
    await Promise.all([service, worker].map((process) => process.end('SIGTERM')))
    await expectClosed(metricsUrlIn(worker.errors))
  })

  for (const command of ['serve', 'worker']) {
    it(`end the start of ${command} with a clear message when their port is taken`, async () => {
      const other = createServer()
      const env = { PORTCULLIS_HTTP__PORT: '0', PORTCULLIS_METRICS__PORT: `${await listen(other)}` }
      const { code, err } = await portcullis([command], { env })
      other.close()
      expect(code).to.equal(1)
      expect(err).to.match(
        /^portcullis: metrics\.port: another program listens there already.* PORTCULLIS_METRICS__PORT/m,
      )
    })
  }
})

async function expectClosed(url: string | null): Promise<void> {
  const answer = await fetch(url ?? '').then(
    () => 'open',
    () => 'closed',
  )
  expect(answer).to.equal('closed')
}
