// The time of an answer tells a stranger nothing about an address (OWASP Forgot Password cheat sheet; ASVS 6.3.8). Needs an
// idle machine.
import { join } from 'node:path'
import { expect } from 'chai'
import { goodPassword } from './support/client.ts'
import { figure } from './support/figures.ts'
import { isLong } from './support/long.ts'
import { type People, settle } from './support/people.ts'
import { type Sender, sender, type Timed } from './support/sender.ts'
import { type SpawnedService, scratchFolder, spawnService } from './support/spawned-service.ts'
import { distinguishability, shuffled } from './support/statistics.ts'

describe('the time of an answer', function () {
  if (isLong) this.timeout(600_000)
  let service: SpawnedService
  let people: People
  let client: Sender

  before(async () => {
    const folder = scratchFolder()
    people = await settle({}, join(folder, 'data'), 10)
    service = await spawnService({ PORTCULLIS_BACKENDS__JWT__REQUIRES_VERIFICATION: 'true' }, folder)
    client = sender(service.url)
    for (let index = 0; index < 20; index++) await logIn(`warm-${index}@example.com`, goodPassword)
  })

  after(async () => {
    client?.close()
    await service?.end('SIGTERM')
  })

  const logIn = (username: string, password: string) => client.postForm('/auth/jwt/login', { username, password })

  const mistyped = 'a quite long pass phrase mistyped'

  it('of a refused login does not tell whether an account exists, is active or is verified', async () => {
    await expectAlike('wrong password', isLong ? { count: 500, least: 0.44 } : { count: 100, least: 0.38 }, 400, {
      'wrong password': (index) => logIn(one(people.verified, index), mistyped),
      'unknown address': (index) => logIn(one(people.unknown, index), goodPassword),
      'inactive, right password': (index) => logIn(one(people.inactive, index), goodPassword),
      'not verified, wrong password': (index) => logIn(one(people.unverified, index), mistyped),
    })
  })

  for (const route of ['/auth/forgot-password', '/auth/request-verify-token']) {
    it(`of ${route} does not tell whether an account exists, is active or is verified`, async () => {
      const ask = (kind: keyof People) => (index: number) => client.postJson(route, { email: one(people[kind], index) })
      await expectAlike('unverified', isLong ? { count: 500, least: 0.44 } : { count: 200, least: 0.4 }, 202, {
        unverified: ask('unverified'),
        verified: ask('verified'),
        inactive: ask('inactive'),
        unknown: ask('unknown'),
      })
    })
  }
})

type Act = (index: number) => Promise<Timed>

/**
 * Expects that no class can be told from `reference` by its times, of `count` requests for each class in random order. A
 * class that fails is tried twice more, and may not fail again.
 */
async function expectAlike(
  reference: string,
  { count, least }: { count: number; least: number },
  status: number,
  classes: Readonly<Record<string, Act>>,
): Promise<void> {
  async function measured(names: readonly string[]): Promise<Map<string, number>> {
    const times = new Map<string, number[]>([reference, ...names].map((name) => [name, []]))
    for (let index = 0; index < count; index++) {
      for (const [name, sample] of shuffled([...times])) {
        const answer = await classes[name]?.(index)
        expect(answer?.status, name).to.equal(status)
        sample.push(answer?.milliseconds ?? Number.NaN)
      }
    }
    const referenceTimes = times.get(reference) ?? []
    return new Map(names.map((name) => [name, distinguishability(times.get(name) ?? [], referenceTimes)]))
  }
  const isDifferent = (value: number): boolean => value < least || value > 1 - least

  const first = await measured(Object.keys(classes).filter((name) => name !== reference))
  figure(`difference from ${reference} (0.5: none)`, Object.fromEntries(first))
  for (const [name, value] of first) {
    if (!isDifferent(value)) continue
    const again = [await measured([name]), await measured([name])].map((round) => round.get(name) ?? Number.NaN)
    const values = [value, ...again]
    expect(again.filter(isDifferent), `${name} differs from ${reference}: ${values.join(', ')}`).to.deep.equal([])
  }
}

const one = (addresses: readonly string[], index: number): string => addresses[index % addresses.length] ?? ''
