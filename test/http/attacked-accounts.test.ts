import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { anAddress, refused, seen, withoutChance } from '../support/http/answers.ts'
import { type Answer, call, goodPassword, register } from '../support/http/client.ts'
import { startTestService, type TestService } from '../support/services/service.ts'

describe('an account whose passwords are guessed', () => {
  let service: TestService

  before(async () => {
    service = await startTestService({ PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: '3' })
  })
  after(() => service.stop())

  const login = (username: string, password: string) =>
    call(service.url, 'POST', '/auth/jwt/login', { form: { username, password } })

  /** An answer without its wait, which differs by a second. */
  function bytesOf(answer: Answer): string {
    const { headers, ...rest } = withoutChance(answer)
    return JSON.stringify({ ...rest, headers: headers.filter(([name]) => name !== 'retry-after') })
  }

  it('has one line in the log and one event, and its address gets the answers of an unknown one', async () => {
    const known = anAddress()
    const unknown = anAddress()
    const { id } = await register(service.url, known)
    for (let guess = 1; guess <= 3; guess += 1) {
      const answers = await Promise.all([login(known, `guess ${guess}`), login(unknown, `guess ${guess}`)])
      expect(answers.map(({ status }) => status)).to.deep.equal([400, 400])
    }
    const attempts = [known, unknown, known, unknown].map((address) => login(address, goodPassword))
    const answers = await Promise.all(attempts)
    for (const answer of answers) {
      expect(seen(answer)).to.deep.equal(refused(429, 'TOO_MANY_REQUESTS'))
      expect(Number(answer.headers.get('retry-after'))).to.be.within(3500, 3600) // the windows began one after the other
    }
    expect(new Set(answers.map(bytesOf)).size).to.equal(1)

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
