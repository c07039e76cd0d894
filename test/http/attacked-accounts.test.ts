import { expect } from 'chai'
import { anAddress } from '../support/answers.ts'
import { call, goodPassword, register } from '../support/client.ts'
import { eventually } from '../support/eventually.ts'
import { startTestService, type TestService } from '../support/service.ts'

describe('an account whose passwords are guessed', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3' })
  })
  after(() => service.stop())

  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })

  it('has one line in the log and one event, and its address gets the answers of an unknown one', async () => {
    const known = anAddress()
    const unknown = anAddress()
    const { id } = await register(service.url, known)
    for (let guess = 1; guess <= 3; guess += 1) {
      const answers = await Promise.all([login(known, `guess ${guess}`), login(unknown, `guess ${guess}`)])
      expect(answers.map(({ status }) => status)).to.deep.equal([400, 400])
    }
    const attempts = [known, unknown, known, unknown].map((address) => login(address, goodPassword))
    for (const { status, body, headers } of await Promise.all(attempts)) {
      expect({ status, body }).to.deep.equal({ status: 429, body: { detail: 'TOO_MANY_REQUESTS' } })
      expect(Number(headers.get('retry-after'))).to.be.within(3500, 3600)
    }

    const { user } = await service.event(({ event }) => event === 'on_account_under_attack')
    expect(user).to.include({ id, email: known })
    const reports = () => {
      const lines: { msg: string; userId: string | null }[] = service.logLines.map((line) => JSON.parse(line))
      return lines.filter(({ msg }) => msg === 'wrong passwords for an account reached limits.passwordsPerAccount')
    }
    await eventually('a line for each address', () => reports().length === 2)
    expect(reports().map(({ userId }) => userId)).to.have.members([id, null])
    for (const address of [known, unknown]) expect(service.logLines.join('')).not.to.include(address)
    expect(service.events.filter(({ event }) => event === 'on_account_under_attack')).to.have.length(1)
  })
})
