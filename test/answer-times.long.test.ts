// The time of an answer tells a stranger nothing about an address (OWASP Forgot Password cheat sheet; ASVS 6.3.8). Needs an
// idle machine.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { call, goodPassword, register } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { each, sender, type Timed } from './support/http/sender.ts'
import { distinguishability, shuffled } from './support/http/statistics.ts'
import { isLong } from './support/mocha/long.ts'
import { enrolled } from './support/scenes/factors.ts'
import { type People, settle } from './support/scenes/people.ts'
import { scratchFolder, spawnService } from './support/services/spawned-service.ts'

const mistyped = 'a quite long pass phrase mistyped'
const kinds = ['unverified', 'verified', 'inactive', 'unknown'] as const
const withLoginName = {
  users: { fields: { name: { type: 'string', unique: true } } },
  backends: { jwt: { transport: { kind: 'bearer' }, strategy: { kind: 'jwt' }, loginBy: ['email', 'name'] } },
}
/** A figure that no test reaches. */
const unmet = 1_000_000

describe('the time of an answer', function () {
  if (isLong) this.timeout(600_000)
  const stops: (() => unknown)[] = []
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })

  /** A service with people in it, whose limits are `most` for each account and address. */
  async function start(most: number, connections = 1) {
    const folder = scratchFolder()
    const people = await settle({}, join(folder, 'data'), 10)
    const env = {
      PORTCULLIS_BACKENDS__JWT__REQUIRES_VERIFICATION: 'true',
      PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: `${most}`,
      PORTCULLIS_LIMITS__TOKENS_PER_ADDRESS: `${most}`,
    }
    const service = await spawnService(env, folder)
    const client = sender(service.url, connections)
    stops.push(client.close, () => service.end('SIGTERM'))
    const logIn = (username: string, password: string) => client.postForm('/auth/jwt/login', { username, password })
    for (let index = 0; index < 20; index++) await logIn(`warm-${index}@example.com`, goodPassword)

    const logins: Acts = {
      'wrong password': (index) => logIn(one(people.verified, index), mistyped),
      'unknown address': (index) => logIn(one(people.unknown, index), goodPassword),
      'inactive, right password': (index) => logIn(one(people.inactive, index), goodPassword),
      'not verified, wrong password': (index) => logIn(one(people.unverified, index), mistyped),
    }
    const requests = (route: string): Acts => {
      const ask = (kind: keyof People) => (index: number) => client.postJson(route, { email: one(people[kind], index) })
      return Object.fromEntries(kinds.map((kind) => [kind, ask(kind)]))
    }
    return { logins, requests }
  }

  it('of a refused login does not tell whether an account exists, is active or is verified', async () => {
    const { logins } = await start(unmet)
    const samples = isLong ? { count: 500, least: 0.44 } : { count: 100, least: 0.38 }
    await expectAlike('wrong password', samples, 400, logins)
  })

  it('of a refused login by a name does not tell whether a user has the name', async () => {
    const folder = scratchFolder()
    await writeFile(join(folder, 'portcullis.config.json'), JSON.stringify(withLoginName))
    const service = await spawnService({ PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: `${unmet}` }, folder)
    const client = sender(service.url, 1)
    stops.push(client.close, () => service.end('SIGTERM'))
    const people = Array.from({ length: 10 }, (_, at) => `person_${at}`)
    for (const name of people) {
      const json = { email: `${name}@example.com`, password: goodPassword, name }
      expect((await call(service.url, 'POST', '/auth/register', { json })).status).to.equal(201)
    }
    const logIn = (username: string, password: string) => client.postForm('/auth/jwt/login', { username, password })
    for (let index = 0; index < 20; index++) await logIn(`warm_${index}`, goodPassword)
    await expectAlike('wrong password', isLong ? { count: 500, least: 0.44 } : { count: 100, least: 0.38 }, 400, {
      'wrong password': (index) => logIn(one(people, index), mistyped),
      'unknown name': (index) => logIn(`nobody_${index % 10}`, goodPassword),
    })
  })

  it('of a refused login does not tell whether the user has a second factor', async () => {
    const service = await spawnService({
      PORTCULLIS_LIMITS__PASSWORDS_PER_ACCOUNT: `${unmet}`,
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
    })
    const client = sender(service.url, 1)
    stops.push(client.close, () => service.end('SIGTERM'))
    const names = (kind: string) => Array.from({ length: 10 }, (_, at) => `${kind}-${at}@example.com`)
    for (const email of names('factor')) await enrolled(service.url, email, () => new Date())
    for (const email of names('plain')) await register(service.url, email)
    const logIn = (username: string) => client.postForm('/auth/jwt/login', { username, password: mistyped })
    for (let index = 0; index < 20; index++) await logIn(`warm-${index}@example.com`)
    await expectAlike('no factor', isLong ? { count: 500, least: 0.44 } : { count: 100, least: 0.38 }, 400, {
      'no factor': (index) => logIn(one(names('plain'), index)),
      'a factor': (index) => logIn(one(names('factor'), index)),
      'unknown address': (index) => logIn(one(names('nobody'), index)),
    })
  })

  it('of a limited login does not tell it either', async () => {
    // Each answer takes a second, so that 50 requests a second do not wait for each other.
    const { logins } = await start(1, 50)
    for (const act of Object.values(logins)) await each(10, 1, act)
    const samples = isLong ? { count: 500, least: 0.44 } : { count: 100, least: 0.38 }
    await expectAlike('wrong password', { ...samples, atOnce: 50 }, 429, logins)
  })

  for (const route of ['/auth/forgot-password', '/auth/request-verify-token']) {
    for (const [title, most] of [
      ['', unmet],
      [', beyond the limit of the address,', 1],
    ] as const) {
      it(`of ${route}${title} does not tell whether an account exists, is active or is verified`, async () => {
        const acts = (await start(most)).requests(route)
        for (const act of Object.values(acts)) await each(10, 1, act)
        await expectAlike('unverified', isLong ? { count: 500, least: 0.44 } : { count: 200, least: 0.4 }, 202, acts)
      })
    }
  }
})

type Acts = Readonly<Record<string, Act>>
type Act = (index: number) => Promise<Timed>

/**
 * Expects that no class can be told from `reference` by its times, of `count` requests for each class in random order. A
 * class that fails is tried twice more, and may not fail again.
 */
async function expectAlike(
  reference: string,
  { count, least, atOnce = 1 }: { count: number; least: number; atOnce?: number },
  status: number,
  classes: Acts,
): Promise<void> {
  async function measured(names: readonly string[]): Promise<Map<string, number>> {
    const times = new Map<string, number[]>([reference, ...names].map((name) => [name, []]))
    const samples = Array.from({ length: count }, () => shuffled([...times])).flat()
    await each(samples.length, atOnce, async (at) => {
      const [name = '', sample] = samples[at] ?? []
      const answer = await classes[name]?.(Math.floor(at / times.size))
      expect(answer?.status, name).to.equal(status)
      sample?.push(answer?.milliseconds ?? Number.NaN)
    })
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
