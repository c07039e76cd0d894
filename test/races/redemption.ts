import { expect } from 'chai'
import { call, goodPassword, logIn, logInByCookie } from '../support/http/client.ts'
import { appRequest, codeOf, redeem, tokenOf } from '../support/scenes/app-sign-in.ts'
import { atOnce, callers, logsIn, type Site, tally, tokenFor } from './site.ts'

const losersTried = 8

export function redemptionRaces(running: () => Site): void {
  it('lets exactly one of 64 callers redeem a reset token, and only their password logs in', async () => {
    const site = running()
    const { id, email } = await site.person()
    const token = await tokenFor(site, '/auth/forgot-password', 'on_after_forgot_password', email)
    const passwordOf = (caller: number) => `${goodPassword} ${caller}`

    const answers = await atOnce((caller) =>
      call(site.url(caller), 'POST', '/auth/reset-password', { json: { token, password: passwordOf(caller) } }),
    )
    expect(tally(answers)).to.deep.equal({ 200: 1, '400 RESET_PASSWORD_BAD_TOKEN': callers - 1 })

    const winner = answers.findIndex(({ status }) => status === 200)
    const others = Array.from({ length: losersTried }, (_, step) => passwordOf((winner + 1 + step) % callers))
    const letIn = await Promise.all([goodPassword, ...others].map((password) => logsIn(site.url(), email, password)))
    expect(letIn).not.to.include(true)
    await logIn(site.url(1), email, passwordOf(winner))

    // A user's events come in order, so that this one's are all there with the last.
    await site.event(({ event, user }) => event === 'on_after_login' && user.id === id)
    const told = site.events().filter(({ event, user }) => event === 'on_after_reset_password' && user.id === id)
    expect(told).to.have.lengthOf(1)
  })

  it('lets exactly one of 64 callers redeem a verification token', async () => {
    const site = running()
    const { id, email } = await site.person()
    const token = await tokenFor(site, '/auth/request-verify-token', 'on_after_request_verify', email)

    const answers = await atOnce((caller) => call(site.url(caller), 'POST', '/auth/verify', { json: { token } }))
    const counts = tally(answers)
    const { '400 VERIFY_USER_BAD_TOKEN': unknown = 0, '400 VERIFY_USER_ALREADY_VERIFIED': known = 0 } = counts
    expect([counts['200'], unknown + known], JSON.stringify(counts)).to.deep.equal([1, callers - 1])

    await logIn(site.url(1), email)
    await site.event(({ event, user }) => event === 'on_after_login' && user.id === id)
    const told = site.events().filter(({ event, user }) => event === 'on_after_verify' && user.id === id)
    expect(told).to.have.lengthOf(1)
  })

  it('leaves nobody logged in by a code of an app that 64 callers redeem', async () => {
    const site = running()
    const { email } = await site.person()
    const request = appRequest('web', 'https://web.example/cb')
    const cookie = await logInByCookie(site.url(), email)
    // A store that is late answers 503: then another code is raced for.
    let code: string
    let answers: Awaited<ReturnType<typeof redeem>>[]
    do {
      code = await codeOf(site.url(), cookie, request)
      const raced = code
      answers = await atOnce((caller) => redeem(site.url(caller), raced, request))
    } while (answers.some(({ status }) => status === 503))
    const counts = JSON.stringify(tally(answers))
    // The first one gets a credential if it is done before the others come. Each of the others ends it.
    const granted = answers.filter(({ status }) => status === 200)
    expect(granted.length, counts).to.be.at.most(1)
    expect(answers.filter(({ status }) => status === 400).length + granted.length, counts).to.equal(callers)

    for (const bearer of granted.map(tokenOf)) {
      expect((await call(site.url(), 'GET', '/users/me', { bearer })).status).to.equal(401)
    }
    expect((await redeem(site.url(1), code, request)).status).to.equal(400)
    const alone = await codeOf(site.url(), cookie, request)
    expect((await redeem(site.url(1), alone, request)).status).to.equal(200)
  })
}
