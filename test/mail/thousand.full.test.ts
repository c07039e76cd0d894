// Messages through a server that refuses a third of them for the moment, and is killed twice.
import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { figure } from '../support/http/figures.ts'
import { each, sender } from '../support/http/sender.ts'
import { isLong, rounds } from '../support/mocha/long.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { type Received, type SmtpStandIn, startSmtp } from '../support/servers/smtp.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

describe('messages through a server that refuses, drops and dies', function () {
  if (isLong) this.timeout(600_000)
  const count = rounds(60, 1000)

  it(`arrive at least once each (${count} messages)`, async () => {
    const folder = scratchFolder()
    const off = { PORTCULLIS_LIMITS__ENABLED: 'false' }
    const people = Array.from({ length: count }, (_, at) => `person-${at}@example.com`)
    await enrol(off, `${folder}/data`, people, { isVerified: true })

    const attempts = new Map<string, number>()
    const all: Received[] = []
    let port = 0
    const start = async (): Promise<SmtpStandIn> => {
      const started = await startSmtp({
        port,
        onRecipient(address) {
          const before = attempts.get(address) ?? 0
          attempts.set(address, before + 1)
          const isFirstOfThird = before === 0 && Number(/\d+/.exec(address)?.[0]) % 3 === 0
          return isFirstOfThird ? { status: 451, text: '4.7.1 come back later' } : null
        },
        onMessage(received) {
          all.push(received)
          return null
        },
      })
      port = started.port
      return started
    }
    const arrived = () => new Set(all.map(({ to }) => to[0])).size

    let smtp = await start()
    const service = await spawnService({ ...off, PORTCULLIS_MAIL__URL: `smtp://127.0.0.1:${port}` }, folder)
    const client = sender(service.url, 8)
    const began = performance.now()
    const asking = each(count, 8, (at) => client.postJson('/auth/forgot-password', { email: people[at] }))
    for (const share of [0.25, 0.6]) {
      await eventually('messages to arrive', () => arrived() >= count * share)
      await smtp.kill()
      await eventually('a failure', () => service.errors.filter((line) => line.includes('ECONNREFUSED')).length > 0)
      smtp = await start()
    }
    for (const { status } of await asking) expect(status).to.equal(202)
    await eventually('every message', () => arrived() === count, 300)
    const seconds = (performance.now() - began) / 1000
    client.close()
    expect(await service.end('SIGTERM')).to.equal(0)
    await smtp.kill()

    expect(new Set(all.map(({ to }) => to[0]))).to.deep.equal(new Set(people))
    const ids = new Map<string, string>()
    for (const { to, parsed } of all) {
      const [address = ''] = to
      expect(ids.get(address) ?? parsed.messageId, 'the Message-ID of a repetition').to.equal(parsed.messageId)
      ids.set(address, parsed.messageId ?? '')
    }
    figure(`${count} messages`, { seconds, duplicates: all.length - count, perSecond: count / seconds })
    expect(service.errors.join('')).to.not.contain('@example.com')
  })
})
