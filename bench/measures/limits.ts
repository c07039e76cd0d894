import { setTimeout as delay } from 'node:timers/promises'
import { interleaved, ratioFigure } from '../interleaved.ts'
import { latencyAtRate, only, type Shot, saturate, saturateBySockets } from '../load.ts'
import type { Measure } from '../measure.ts'
import { login, meByBearer, people } from '../people.ts'
import { longHashQueue, type Server, type StartedService, startFlood, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const clients = 32
const guessingConnections = 500
/** The longest time until each of the connections has had its first refusal. */
const onsetSeconds = 10
const asksPerSecond = 200
/** So slow that these logins never wait for each other. */
const loginsPerSecond = 5
const mostSlower = 0.95
/** V8 needs about 40 s of logins until it has compiled their code. */
const warmUpSeconds = 40

/** Every request names its client, so that the counters of clients work. */
const settings = (enabled: boolean) => ({ http: { trustedProxies: ['127.0.0.1'] }, limits: { enabled } })
const from = (client: string, shot: Shot): Shot => ({
  ...shot,
  headers: { ...shot.headers, 'X-Forwarded-For': client },
})
const next = (shots: readonly Shot[]) => (turn: number) => shots[turn % shots.length] ?? { path: '/', headers: {} }

/** GET /users/me and logins of other clients while 500 connections of one client guess passwords without pause. */
export const guessing: Measure = {
  name: 'guessing',
  async run({ rounds, seconds }, say) {
    const service = await startService({ env: longHashQueue, settings: settings(true) })
    const { url } = service
    const flood = await startFlood(url, guessingConnections)
    const crowd = await people(service, clients)
    const asks = next(crowd.map(meByBearer))
    const logins = next(crowd.map(({ email }, turn) => from(`192.0.2.${turn}`, login(email))))
    let attack = 0

    const guess = (length: number) => () => {
      attack += 1
      const wrong = from(`198.51.100.${attack}`, login(`victim.${attack}@example.com`))
      const { begun, ended } = flood.begin(wrong, length)
      return { begun, end: () => ended }
    }
    const measured = async (what: string, shots: (turn: number) => Shot, perSecond: number): Promise<void> => {
      const measure = () => latencyAtRate(url, shots, { perSecond, seconds: 5 * seconds })
      await measure()
      const figures = await interleaved(rounds, measure, guess(5 * seconds + onsetSeconds))
      say(ratioFigure(`${what}, p99, while ${guessingConnections} connections guess`, figures, 2, 'none is 503'))
    }
    await measured('GET /users/me', asks, asksPerSecond)
    await measured('POST /auth/jwt/login of other clients', logins, loginsPerSecond)
    const { end } = guess(onsetSeconds)()
    const onset = await latencyAtRate(url, asks, { perSecond: asksPerSecond, seconds: onsetSeconds })
    await end()
    say({
      what: `GET /users/me, slowest, while ${guessingConnections} connections open and guess first`,
      value: `${onset.max.toFixed(1)} ms`,
    })
    await flood.end()
    await service.end()
  },
}

/** GET /users/me and logins with limits, compared with `limits.enabled: false`. */
export const costOfLimits: Measure = {
  name: 'cost-of-limits',
  async run({ rounds, seconds }, say) {
    const limited = await startService({ env: longHashQueue, settings: settings(true) })
    const free = await startService({ env: longHashQueue, settings: settings(false) })
    const asks = await forEach([limited, free], async (service) => (await people(service, clients)).map(meByBearer))
    const logins = await forEach([limited, free], async () =>
      Array.from({ length: clients }, (_, turn) => from(`192.0.2.${turn}`, login(`someone.${turn}@example.com`))),
    )
    const asking = async ({ url }: Server, shots: readonly Shot[], duration: number) =>
      only(200, await saturate({ url, shots, connections: clients, seconds: duration }))
    const loggingIn = ({ url }: Server, shots: readonly Shot[], duration: number) =>
      saturateBySockets(url, shots, duration)

    for (const [what, rate, shots, length, warmUp] of [
      ['GET /users/me', asking, asks, seconds, 4],
      ['POST /auth/jwt/login', loggingIn, logins, 3 * seconds, warmUpSeconds],
    ] as const) {
      const once = (service: StartedService, duration = length) => rate(service, shots.get(service) ?? [], duration)
      for (const service of [limited, free]) await once(service, warmUp)
      const ratios: number[] = []
      for (let round = 0; round < rounds; round++) {
        const pair = new Map<StartedService, number>()
        for (const service of round % 2 === 0 ? [limited, free] : [free, limited]) {
          await delay(500)
          pair.set(service, await once(service))
        }
        ratios.push((pair.get(limited) ?? 0) / (pair.get(free) ?? 1))
      }
      const ratio = spreadOf(ratios)
      say({
        what: `${what} with limits, compared with none`,
        value: `${rounds} rounds`,
        ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
        goal: { text: `≥ ${mostSlower}`, isMet: ratio.median >= mostSlower },
      })
    }
    for (const service of [limited, free]) await service.end()
  },
}

async function forEach<R>(
  services: readonly StartedService[],
  work: (service: StartedService) => Promise<R>,
): Promise<ReadonlyMap<StartedService, R>> {
  const results = new Map<StartedService, R>()
  for (const service of services) results.set(service, await work(service))
  return results
}
