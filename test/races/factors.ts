import { expect } from 'chai'
import { call, logIn } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { Authenticator, type CreationOptions, type RequestOptions } from '../support/scenes/authenticator.ts'
import { challenged, codeOf, enrolFactor, prove } from '../support/scenes/factors.ts'
import { atOnce, callers, frontEnd, type Site } from './site.ts'

/** Each is a login, whose password takes time. */
const challenges = rounds(callers / 4, callers)
const granted = ({ status }: { readonly status: number }) => status === 200

/** Races for what proves a second factor once. Losers may also be told that there are too many tries. */
export function factorRaces(running: () => Site): void {
  const now = () => new Date()
  const nextCode = (secret: string) => codeOf(secret, new Date(Date.now() + 30_000))

  it('gives one login for a challenge that 64 callers answer, and one for a code with many challenges', async () => {
    const site = running()
    const { email } = await site.person()
    const { secret, recoveryCodes } = await enrolFactor(site.url(), email, now)
    const { challenge } = await challenged(site.url(), email)
    const code = nextCode(secret)
    const answers = await atOnce((caller) => prove(site.url(caller), { challenge, code }))
    expect(answers.filter(granted)).to.have.lengthOf(1)

    const [recoveryCode = ''] = recoveryCodes
    const opened = await atOnce((caller) => challenged(site.url(caller), email), challenges)
    const method = 'recovery_code'
    const proved = await atOnce(
      (caller) => prove(site.url(caller), { challenge: opened[caller]?.challenge ?? '', code: recoveryCode, method }),
      challenges,
    )
    expect(proved.filter(granted)).to.have.lengthOf(1)
  })

  it('gives one login for the answer of a passkey that 64 callers send', async () => {
    const site = running()
    const { email } = await site.person()
    const bearer = await logIn(site.url(), email)
    const passkeys = '/users/me/factors/passkeys'
    const offered = await call(site.url(), 'POST', `${passkeys}/options`, { bearer })
    const authenticator = new Authenticator(frontEnd)
    const made = authenticator.create(offered.body as CreationOptions) // safe: its use proves it
    const json = { response: made, name: 'Telephone' }
    expect((await call(site.url(), 'POST', passkeys, { bearer, json })).status).to.equal(200)

    const options = await call(site.url(), 'POST', '/auth/jwt/passkey/options')
    const response = authenticator.get(options.body as RequestOptions) // safe: its use proves it
    const answers = await atOnce((caller) =>
      call(site.url(caller), 'POST', '/auth/jwt/passkey', { json: { response } }),
    )
    expect(answers.filter(granted)).to.have.lengthOf(1)
    for (const { body } of answers.filter((one) => !granted(one)))
      expect(body).to.deep.equal({ detail: 'PASSKEY_REFUSED' })
  })
}
