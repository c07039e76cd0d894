import { expect } from 'chai'
import { call, goodPassword, logIn, type Sent } from '../support/http/client.ts'
import { atOnce, callers, logsIn, newAddress, type Person, type Site, tally } from './site.ts'

/** Races for new addresses that have to be confirmed. */
export function addressRaces(running: () => Site): void {
  /** The token that the user gets for the new address, with the session that it needs. */
  async function tokenFor(site: Site, { id, email }: Person, wanted: string, caller = 0): Promise<Sent> {
    const bearer = await logIn(site.url(caller), email)
    const answer = await call(site.url(caller), 'PATCH', '/users/me', { bearer, json: { email: wanted } })
    expect(answer.body).to.include({ email })
    const isIts = (event: string) => event === 'on_after_request_verify'
    const { token = '' } = await site.event(
      ({ event, user }) => isIts(event) && user.id === id && user.email === wanted,
    )
    return { json: { token }, bearer }
  }

  it('lets exactly one of 64 callers confirm a new address, with one event', async () => {
    const site = running()
    const person = await site.person()
    const wanted = newAddress()
    const sent = await tokenFor(site, person, wanted)
    const answers = await atOnce((caller) => call(site.url(caller), 'POST', '/auth/verify', sent))
    const {
      200: confirmed,
      '400 VERIFY_USER_BAD_TOKEN': refused = 0,
      '503 SERVICE_UNAVAILABLE': late = 0,
    } = tally(answers)
    expect({ confirmed, others: refused + late }).to.deep.equal({ confirmed: 1, others: callers - 1 })

    expect(await logsIn(site.url(1), person.email)).to.equal(false)
    await logIn(site.url(1), wanted)
    await site.event(({ event, user }) => event === 'on_after_login' && user.id === person.id && user.email === wanted)
    const told = site.events().filter(({ event, user }) => event === 'on_after_update' && user.id === person.id)
    expect(told.map(({ changes }) => changes?.previous_email)).to.deep.equal([person.email])
  })

  it('gives an address to one of 16 users who confirm it, or to somebody who registers it meanwhile', async () => {
    const site = running()
    const wanted = newAddress()
    const users = await site.people(callers / 4)
    const sent = await Promise.all(users.map((user, caller) => tokenFor(site, user, wanted, caller)))
    const answers = await atOnce((caller) => {
      if (caller === callers - 1) {
        return call(site.url(caller), 'POST', '/auth/register', { json: { email: wanted, password: goodPassword } })
      }
      return call(site.url(caller), 'POST', '/auth/verify', sent[caller >> 2])
    })
    const winners = answers.filter(({ status }) => status === 200 || status === 201)
    expect(winners, JSON.stringify(tally(answers))).to.have.length(1)
    await logIn(site.url(1), wanted)
  })
}
