import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, untilAvailable } from '../support/http/client.ts'
import { rounds } from '../support/mocha/long.ts'
import { atOnce, callers, logsIn, newAddress, type Site, tally } from './site.ts'

/** Sixteen ways to write one address: case, composed or not, spaces around it, Unicode or punycode. */
export function spellings(tag: string): string[] {
  const locals = ['josé.müller', 'JOSÉ.MÜLLER', 'José.Müller', 'josé.müller'.normalize('NFD')]
  const domains = ['bücher.example', 'BÜCHER.example', 'xn--bcher-kva.example', 'Xn--Bcher-Kva.EXAMPLE']
  return locals.flatMap((local, at) =>
    domains.map((domain, spaces) => `${' '.repeat(spaces)}${local}+${tag}@${domain}${' '.repeat(at)}`),
  )
}

export function registrationRaces(running: () => Site): void {
  it('lets exactly one of 64 callers register an address in any spelling, with one event', async () => {
    const site = running()
    const tag = newAddress().replace(/@.*/, '')
    const written = spellings(tag)
    expect(new Set(written).size).to.equal(16)
    const passwordOf = (caller: number) => `${goodPassword} ${caller}`

    const answers = await atOnce((caller) =>
      // Both processes get all spellings.
      call(site.url(caller >> 4), 'POST', '/auth/register', {
        json: { email: written[caller % written.length], password: passwordOf(caller) },
      }),
    )
    expect(tally(answers)).to.deep.equal({ 201: 1, '400 REGISTER_USER_ALREADY_EXISTS': callers - 1 })

    const winner = answers.findIndex(({ status }) => status === 201)
    const some = written.filter((_, at) => at % 5 === 0)
    const letIn = await Promise.all(some.map((email) => logsIn(site.url(), email, passwordOf(winner))))
    expect(letIn).to.deep.equal([true, true, true, true])
    const loser = (winner + 1) % callers
    expect(await logsIn(site.url(), written[0] ?? '', passwordOf(loser))).to.equal(false)

    const told = () =>
      site.events().filter(({ event, user }) => event === 'on_after_register' && user.email.includes(tag))
    await eventually('its event', () => told().length >= 1)
    await site.settled()
    expect(told().map(({ user }) => user)).to.deep.equal([answers[winner]?.body])
  })
}

/** On services with integer ids. */
export function numberRaces(running: () => Site): void {
  it('gives no number twice to 64 callers who register at once', async () => {
    const site = running()
    const ids: unknown[] = []
    for (let round = 0; round < rounds(1, 4); round++) {
      const answers = await atOnce((caller) =>
        untilAvailable(() => {
          const json = { email: newAddress(), password: goodPassword }
          return call(site.url(caller), 'POST', '/auth/register', { json })
        }),
      )
      expect(tally(answers)).to.deep.equal({ 201: callers })
      ids.push(...answers.map(({ body }) => (body as { id: unknown }).id)) // safe: the status is 201
    }
    expect(ids.every(Number.isSafeInteger)).to.equal(true)
    expect(new Set(ids).size).to.equal(ids.length)
  })
}
