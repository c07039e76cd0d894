// Registration and forgot-password take as long with mail on as off, and for known as for unknown addresses. Needs an idle
// machine.
import { expect } from 'chai'
import { goodPassword } from '../support/http/client.ts'
import { figure } from '../support/http/figures.ts'
import { sender, type Timed } from '../support/http/sender.ts'
import { distinguishability, median, shuffled } from '../support/http/statistics.ts'
import { rounds } from '../support/mocha/long.ts'
import { settle } from '../support/scenes/people.ts'
import { type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import { type SpawnedService, scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const limitsOff = { PORTCULLIS_LIMITS__ENABLED: 'false' }

describe('the time of an answer with mail', function () {
  this.timeout(600_000)
  const count = rounds(60, 300)
  let smtp: SmtpStandIn
  const services = new Map<string, SpawnedService>()

  before(async () => {
    smtp = await startSmtp()
    for (const [name, url] of [
      ['on', `smtp://127.0.0.1:${smtp.port}`],
      ['off', 'off'],
    ] as const) {
      const folder = scratchFolder()
      await settle(limitsOff, `${folder}/data`, count)
      services.set(name, await spawnService({ ...limitsOff, PORTCULLIS_MAIL__URL: url }, folder))
    }
  })

  after(async () => {
    for (const service of services.values()) await service.end('SIGTERM')
    await smtp?.kill()
  })

  /** The times of each act, in random order within each round. */
  async function measured(acts: Readonly<Record<string, (at: number) => Promise<Timed>>>, status: number) {
    const times = new Map(Object.keys(acts).map((name) => [name, [] as number[]]))
    for (let at = 0; at < count; at++) {
      for (const [name, act] of shuffled(Object.entries(acts))) {
        const answer = await act(at)
        expect(answer.status).to.equal(status)
        times.get(name)?.push(answer.milliseconds)
      }
    }
    return (name: string) => times.get(name) ?? []
  }
  const clients = () => new Map([...services].map(([name, { url }]) => [name, sender(url)]))

  it('of a registration is the same', async () => {
    const by = clients()
    const register = (name: string) => (at: number) =>
      by.get(name)?.postJson('/auth/register', { email: `new-${at}@example.com`, password: goodPassword }) ??
      expect.fail()
    const times = await measured({ on: register('on'), off: register('off') }, 201)
    const [on, off] = [median(times('on')), median(times('off'))]
    figure('registration', { on, off, difference: distinguishability(times('on'), times('off')) })
    expect(on).to.be.below(off * 1.25)
    for (const client of by.values()) client.close()
  })

  it('of forgot-password is the same, also for known and unknown addresses', async () => {
    const by = clients()
    const forget = (name: string, person: string) => (at: number) =>
      by.get(name)?.postJson('/auth/forgot-password', { email: `${person}-${at}@example.com` }) ?? expect.fail()
    const times = await measured(
      {
        known: forget('on', 'verified-for-long'),
        unknown: forget('on', 'nobody-at-all'),
        off: forget('off', 'verified-for-long'),
      },
      202,
    )
    const difference = distinguishability(times('known'), times('unknown'))
    const [known, unknown, off] = [median(times('known')), median(times('unknown')), median(times('off'))]
    figure('forgot-password', { known, unknown, off, difference })
    expect(difference).to.be.within(0.38, 0.62)
    expect(known).to.be.below(off * 1.5)
    for (const client of by.values()) client.close()
  })
})
