import { expect } from 'chai'
import { portcullis } from '../support/process/command-line.ts'
import { startSmtp } from '../support/servers/smtp.ts'

describe('portcullis mail test', () => {
  const test = (url: string, to = 'ada@example.com', more: Readonly<Record<string, string>> = {}) =>
    portcullis(['mail', 'test', '--to', to], { env: { PORTCULLIS_MAIL__URL: url, ...more } })

  it('sends one message and prints the answer of the server', async () => {
    const smtp = await startSmtp()
    const { code, out, err } = await test(`smtp://127.0.0.1:${smtp.port}`, 'ada@example.com', {
      PORTCULLIS_MAIL__FROM: 'Acme <accounts@example.com>',
    })
    await smtp.kill()
    expect([code, out, err]).to.deep.equal([0, 'The server took the message: 250 queued\n', ''])
    expect(smtp.received.map(({ to, parsed }) => [to, parsed.from?.address])).to.deep.equal([
      [['ada@example.com'], 'accounts@example.com'],
    ])
  })

  it('prints the reason of a failure', async () => {
    const smtp = await startSmtp({ onRecipient: () => ({ status: 550, text: '5.1.1 no such person' }) })
    const url = `smtp://127.0.0.1:${smtp.port}`
    const hint = 'The setting is mail.url. docs/mail.md lists what to do'
    const answer = 'Not sent: RCPT TO: 550 5.1.1 (550 5.1.1 no such person)'
    expect(await test(url)).to.include({ code: 1, err: `${answer}\n${hint}\n` })
    await smtp.kill()
    const refused = `Not sent: CONN: ECONNREFUSED (127.0.0.1:${smtp.port})`
    expect(await test(url)).to.include({ code: 1, err: `${refused}\n${hint}\n` })
  })

  it('needs a server and an address', async () => {
    expect((await test('off')).err).to.contain('mail.url: is off, so no server takes messages')
    const wrong = await test('smtp://127.0.0.1:1', 'nobody')
    expect(wrong.code).to.equal(2)
    expect(wrong.err).to.match(/^portcullis: wrong arguments:\n {2}--to: .*@-sign/)
  })
})
