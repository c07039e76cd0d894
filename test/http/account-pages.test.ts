import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

const token = 'Abc-_'.padEnd(43, '9')

describe('the pages at /account', () => {
  let service: TestService
  before(async () => {
    service = await startTestService({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_LOGS__REQUESTS: 'all' })
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

  for (const page of ['reset', 'verify']) {
    for (const mark of ['%23', '%2523']) {
      it(`read the token of /account/${page}${mark}token=…, and do not log it`, async () => {
        const link = `${service.url}/account/${page}#token=${token}`
        for (const end of [`token=${token}`, `token%3D${token}.`, `token=3D${token}%3E`]) {
          const [status, way] = await wayOf(`/account/${page}${mark}${end}`)
          expect([status, way], end).to.deep.equal([303, link])
        }
        const unreadable = [303, `${service.url}/account/${page}`]
        for (const end of ['', 'token=cut-off', '%E0%A4%A']) {
          expect(await wayOf(`/account/${page}${mark}${end}`), end).to.deep.equal(unreadable)
        }
        const route = `/account/${page}${mark}`
        await eventually('the lines in the log', () => service.logLines.some((line) => line.includes(`"${route}"`)))
        expect(service.logLines.join('')).to.not.include(token)
      })
    }
  }
})
