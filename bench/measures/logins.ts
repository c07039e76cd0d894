import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { defaultHashConcurrency } from '../../src/adapters/crypto/hash-pool.ts'
import { saturate, saturateBySockets } from '../load.ts'
import { bothCores } from '../machine.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { login, meByBearer, password, people } from '../people.ts'
import { inPostgres, inSqlite, type Place } from '../places.ts'
import { longHashQueue, processorSeconds, root, run, type Server, startBare, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const connections = 32
/** Logins are slow, so V8 needs about 40 s of them until it has compiled their code. */
const warmUpSeconds = { requests: 4, logins: 45 }
/** A login takes as long as a thousand requests, so a round must be longer. */
const roundFactor = 3
/** The pause before each round, so that no round starts with warmer processors. */
const pauseMilliseconds = 500

interface Sample {
  /** Logins per second. */
  readonly rate: number
  /** The processor time of one login. */
  readonly costMilliseconds: number
}

/**
 * Logins per second, compared with argon2.verify alone on the same hash with the same concurrency. The comparison with a
 * bare application shows the cost of any HTTP answer on the processors that hash.
 */
export const logins: Measure = {
  name: 'logins',
  run: (effort, say) => compare(inSqlite, { toHashing: 0.9 }, effort, say),
}

/** The same with a server for the look-ups, so the goal is the bare application that has one, too. */
export const postgresLogins: Measure = {
  name: 'postgres-logins',
  run: (effort, say) => compare(inPostgres, { toBare: 0.95 }, effort, say),
}

/** The lowest accepted ratios. */
interface Goals {
  readonly toHashing?: number
  readonly toBare?: number
}

async function compare(
  open: () => Promise<Place>,
  goals: Goals,
  { rounds, seconds }: Effort,
  say: (figure: Figure) => void,
): Promise<void> {
  const concurrency = `${defaultHashConcurrency(null)}`
  const place = await open()
  const service = await startService({ env: { ...longHashQueue, ...place.env } })
  const everybody = await people(service, connections)
  const shots = everybody.map(({ email }) => login(email))
  const bareEnv = { ...place.bareEnv(service), BARE_CONCURRENCY: concurrency }
  const bare = await startBare('login.mjs', bareEnv, bothCores)
  const hash = await place.someHash(service)
  const raw = run(process.execPath, [join(root, 'bench', 'bare', 'verify.mjs')], {
    env: { BARE_HASH: hash, BARE_PASSWORD: password, BARE_CONCURRENCY: concurrency },
  })

  const costing = async (pid: number, going: Promise<number>): Promise<Sample> => {
    const [before, started] = [processorSeconds(pid), performance.now()]
    const rate = await going
    const count = (rate * (performance.now() - started)) / 1000
    return { rate, costMilliseconds: ((processorSeconds(pid) - before) / count) * 1000 }
  }
  const roundSeconds = seconds * roundFactor
  const loggingIn = ({ url, pid }: Server, duration = roundSeconds): Promise<Sample> =>
    costing(pid, saturateBySockets(url, shots, duration))
  const verifying = (): Promise<Sample> => {
    const rate = raw.next(/^rate (.+)$/)
    raw.tell(`${roundSeconds}`)
    return costing(raw.pid, rate.then(Number))
  }
  const who = { ours: () => loggingIn(service), raw: verifying, bare: () => loggingIn(bare) }

  await saturate({ url: service.url, shots: everybody.map(meByBearer), connections, seconds: warmUpSeconds.requests })
  for (const server of [service, bare]) await loggingIn(server, warmUpSeconds.logins)
  await verifying()
  const seen: Record<keyof typeof who, Sample[]> = { ours: [], raw: [], bare: [] }
  for (let round = 0; round < rounds; round++) {
    for (const name of turned(['ours', 'raw', 'bare'] as const, round)) {
      await delay(pauseMilliseconds)
      seen[name].push(await who[name]())
    }
  }
  for (const one of [service, bare, raw, place]) await one.end()

  const rates = compared(seen.ours, seen.raw, ({ rate }) => rate)
  const costs = compared(seen.raw, seen.ours, ({ costMilliseconds }) => costMilliseconds)
  const toBare = compared(seen.ours, seen.bare, ({ rate }) => rate)
  const bareToRaw = compared(seen.bare, seen.raw, ({ rate }) => rate)
  say({
    what: `POST /auth/jwt/login, ${connections} clients${place.suffix}`,
    value: `${rates.one}/s`,
    beside: `argon2.verify ${rates.other}/s`,
    ratio: rates.shown,
    ...goalOf(rates.ratio, goals.toHashing),
  })
  say({
    what: '  its processor time',
    value: `${costs.other} ms`,
    beside: `argon2.verify ${costs.one} ms`,
    ratio: costs.shown,
  })
  say({
    what: '  next to a bare app',
    value: `${toBare.one}/s`,
    beside: `bare ${toBare.other}/s`,
    ratio: toBare.shown,
    ...goalOf(toBare.ratio, goals.toBare),
  })
  say({
    what: '  that bare app',
    value: `${bareToRaw.one}/s`,
    beside: `argon2.verify ${bareToRaw.other}/s`,
    ratio: bareToRaw.shown,
  })
}

function goalOf(ratio: number, goal: number | undefined): Pick<Figure, 'goal'> {
  return goal === undefined ? {} : { goal: { text: `≥ ${goal}`, isMet: ratio >= goal } }
}

/** Rotates the list, so that each element comes first in turn. */
function turned<T>(list: readonly T[], by: number): readonly T[] {
  const from = by % list.length
  return [...list.slice(from), ...list.slice(0, from)]
}

/** The median of each list, and the median of their ratios round by round. */
function compared(one: readonly Sample[], other: readonly Sample[], figure: (sample: Sample) => number) {
  const ratio = spreadOf(one.flatMap((sample, round) => (other[round] ? [figure(sample) / figure(other[round])] : [])))
  return {
    one: spreadOf(one.map(figure)).median.toFixed(1),
    other: spreadOf(other.map(figure)).median.toFixed(1),
    ratio: ratio.median,
    shown: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
  }
}
