import { expect } from 'chai'
import { call, goodPassword, logIn, untilAvailable } from '../support/http/client.ts'
import { atOnce, callers, newAddress, type Site, tally } from './site.ts'

/** Eight ways to write one value: case, composed or not. */
const spellings = ['josé', 'JOSÉ', 'José', 'jOSÉ'].flatMap((text) => [text.normalize('NFC'), text.normalize('NFD')])

// A busy MongoDB answers some callers after its deadline. They get 503, and ask again as clients do.
export function uniqueFieldRaces(running: () => Site): void {
  it('lets exactly one of 64 callers register a unique value in any spelling, with one event', async () => {
    const site = running()
    const tag = newAddress().replace(/@.*/, '')
    const register = (caller: number) =>
      untilAvailable(() => {
        // All processes get all spellings.
        const handle = `${spellings[(caller >> 3) % spellings.length]}${tag}`
        const email = `${tag}+${newAddress()}`
        return call(site.url(caller), 'POST', '/auth/register', { json: { email, password: goodPassword, handle } })
      })
    const { 201: winners = 0, ...others } = tally(await atOnce(register))
    // The 503 of a winner may hide its 201, so the events count the users.
    expect(others).to.deep.equal({ '400 REGISTER_FIELD_ALREADY_EXISTS': callers - winners })
    await site.settled()
    const told = site.events().filter(({ event, user }) => event === 'on_after_register' && user.email.includes(tag))
    expect(new Set(told.map(({ user }) => user.id)).size).to.equal(1)
  })

  it('lets exactly one of 16 users, with four requests each, change to a unique value', async () => {
    const site = running()
    const handle = newAddress().replace(/@.*/, '')
    const people = await site.people(16)
    const bearers: string[] = []
    for (const [at, { email }] of people.entries()) bearers.push(await logIn(site.url(at), email))
    const answers = await atOnce(async (caller) => {
      const bearer = bearers[caller >> 2] ?? ''
      const change = () => call(site.url(caller), 'PATCH', '/users/me', { bearer, json: { handle } })
      return { caller, ...(await untilAvailable(change)) }
    })
    // The requests of the winner agree, so each of them succeeds.
    const winners = answers.filter(({ status }) => status === 200)
    expect(new Set(winners.map(({ caller }) => caller >> 2)).size, JSON.stringify(tally(answers))).to.equal(1)
    expect(tally(answers)).to.deep.equal({ 200: 4, '400 UPDATE_USER_FIELD_ALREADY_EXISTS': callers - 4 })
    const read = await Promise.all(bearers.map((bearer) => call(site.url(), 'GET', '/users/me', { bearer })))
    expect(read.filter(({ text }) => text.includes(handle))).to.have.length(1)
  })
}
