import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { call, register } from '../support/http/client.ts'
import { callAt } from '../support/http/raw-request.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('the mailbox', () => {
  let service: TestService
  let address: URL

  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_MAIL__URL: 'mailbox:' })
    address = new URL(service.mailboxUrl ?? expect.fail('there is no mailbox'))
  })

  after(() => service?.stop())

  const pageWith = async (words: string): Promise<string> => {
    let text = ''
    for (const deadline = Date.now() + 60_000; Date.now() < deadline && !text.includes(words); ) {
      text = await (await fetch(address)).text()
    }
    return text
  }

  it('shows the last messages to those who have the key', async () => {
    expect(await (await fetch(address)).text()).to.contain('There are no messages yet')
    await register(service.url, "o'hara@example.com")
    const page = await pageWith('Verify your address')
    expect(page).to.contain('o&#39;hara@example.com')
    const [, link = ''] = /<iframe[^>]* src="([^"]+)"/.exec(page) ?? []
    const message = await fetch(new URL(link.replaceAll('&amp;', '&'), address))
    expect(await message.text())
      .to.contain('Verify the address')
      .and.contain('<base target="_blank">')
    const policy = message.headers.get('Content-Security-Policy')
    expect(policy)
      .to.contain("default-src 'none'")
      .and.contain('img-src data:')
      .and.match(/sandbox allow-popups/)
      .and.not.contain('allow-scripts')
    const [, token] = /#token=([\w-]{43})/.exec(page) ?? []
    expect((await call(service.url, 'POST', '/auth/verify', { json: { token } })).status).to.equal(200)
  })

  it('asks for one token only, also when the user asks as well', async () => {
    const { email } = await register(service.url, 'twice@example.com')
    await call(service.url, 'POST', '/auth/request-verify-token', { json: { email } })
    await pageWith('twice@example.com')
    await call(service.url, 'POST', '/auth/request-verify-token', { json: { email } })
    await register(service.url, 'later@example.com')
    const page = await pageWith('later@example.com')
    expect(page.match(/<span>twice<wbr>@example\.com/g)).to.have.length(1)
  })

  it('is closed without the key', async () => {
    for (const query of ['', '?key=', '?key=wrong', `?number=1&key=${'a'.repeat(43)}`]) {
      for (const path of ['/try/mailbox', '/try/mailbox/message']) {
        const answer = await fetch(`${service.url}${path}${query}`)
        expect([path, query, answer.status]).to.deep.equal([path, query, 403])
        expect(await answer.text()).to.not.contain('example.com')
      }
    }
  })

  it('has the same address after a restart, and another one for other data', async () => {
    const settings = { PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_MAIL__URL: 'mailbox:' }
    const { dataFolder } = service
    const keys = []
    for (const options of [{ dataFolder }, { dataFolder }, {}]) {
      const other = await startTestService(settings, options)
      keys.push(new URL(other.mailboxUrl ?? '').search)
      await other.stop()
    }
    expect(keys.map((key) => key === address.search)).to.deep.equal([true, true, false])
    expect((await stat(join(dataFolder, 'mailbox-key'))).mode & 0o777).to.equal(0o600)
  })

  it('answers browsers of this machine only', async () => {
    const path = `${address.pathname}${address.search}`
    expect((await callAt(service.url, 'accounts.example', 'GET', path)).status).to.equal(404)
    expect((await fetch(address, { headers: { 'X-Forwarded-For': '192.0.2.1' } })).status).to.equal(404)
  })
})

describe('a service that sends its mail', () => {
  it('has no mailbox', async () => {
    const service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
    expect(service.mailboxUrl).to.equal(null)
    expect((await fetch(`${service.url}/try/mailbox`)).status).to.equal(404)
    await service.stop()
  })
})
