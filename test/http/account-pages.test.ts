import { expect } from 'chai'
import { startTestService, type TestService } from '../support/service.ts'

describe('the pages at /account', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory' })
  })
  after(() => service?.stop())

  const get = (path: string) => fetch(`${service.url}${path}`, { redirect: 'manual' })
  const wayOf = async (path: string) => {
    const { status, headers } = await get(path)
    return [status, headers.get('Location')]
  }

  it('share no window with a page of another origin that opened them', async () => {
    for (const path of ['/', '/account', '/account/sign-in', '/account/reset', '/docs', '/try']) {
      expect((await get(path)).headers.get('Cross-Origin-Opener-Policy'), path).to.equal('same-origin')
    }
  })

  it('are found by password managers that change a password', async () => {
    const change = '/.well-known/change-password'
    expect(await wayOf(change)).to.deep.equal([303, `${service.url}/account/password`])
    expect((await get(`${change}-not`)).status).to.equal(404)
  })
})
