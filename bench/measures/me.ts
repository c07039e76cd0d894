import { only, type Shot, saturate } from '../load.ts'
import { bothCores, loadCore, moveTo, serverCore } from '../machine.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { meByBearer, meByCookie, type Person, people } from '../people.ts'
import { inPostgres, inSqlite, type Place, withRedis } from '../places.ts'
import { processorSeconds, type Server, startBare, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const connections = 32
const warmUpSeconds = 4

interface Sample {
  /** Requests a second. */
  readonly rate: number
  /** The processor time of one request. It is steadier than the rate on a busy machine. */
  readonly costMicroseconds: number
}

interface Kind {
  readonly name: string
  readonly open: () => Promise<Place>
  readonly credential: 'jwt' | 'session' | 'redis-session'
  readonly shot: (person: Person) => Shot
  readonly goal: number
}

const beside = () => withRedis(loadCore)
const kinds: readonly Kind[] = [
  { name: 'by JWT', open: inSqlite, credential: 'jwt', shot: meByBearer, goal: 0.7 },
  { name: 'by cookie, session in SQLite', open: inSqlite, credential: 'session', shot: meByCookie, goal: 0.7 },
  { name: 'by cookie, session in Redis', open: beside, credential: 'redis-session', shot: meByCookie, goal: 0.7 },
]
const postgresKinds: readonly Kind[] = [
  { name: 'by JWT', open: inPostgres, credential: 'jwt', shot: meByBearer, goal: 0.8 },
  { name: 'by cookie', open: inPostgres, credential: 'session', shot: meByCookie, goal: 0.75 },
]

/** GET /users/me, compared with a bare application with the same look-ups. Each has its own processor while it runs. */
export const me: Measure = { name: 'me', run: comparing(kinds) }
export const postgresMe: Measure = { name: 'postgres-me', run: comparing(postgresKinds) }

function comparing(kinds: readonly Kind[]): Measure['run'] {
  return async (effort, say) => {
    moveTo(loadCore)
    try {
      for (const kind of kinds) await compare(kind, effort, say)
    } finally {
      moveTo(bothCores)
    }
  }
}

async function compare(kind: Kind, effort: Effort, say: (figure: Figure) => void): Promise<void> {
  const place = await kind.open()
  const service = await startService({ env: place.env, cores: serverCore })
  const shots = (await people(service, 2 * connections)).map(kind.shot)
  const bareEnv = { ...place.bareEnv(service), BARE_CREDENTIAL: kind.credential }
  const bare = await startBare('me.mjs', bareEnv, serverCore)
  const measured = async (server: Server, seconds: number): Promise<Sample> => {
    const before = processorSeconds(server.pid)
    const rate = only(200, await saturate({ url: server.url, shots, connections, seconds }))
    return { rate, costMicroseconds: ((processorSeconds(server.pid) - before) / seconds / rate) * 1e6 }
  }

  for (const server of [service, bare]) await measured(server, warmUpSeconds)
  const rounds: { ours: Sample; theirs: Sample }[] = []
  for (let round = 0; round < effort.rounds; round++) {
    // The service and the bare application take turns to come first.
    if (round % 2 === 0) {
      const ours = await measured(service, effort.seconds)
      rounds.push({ ours, theirs: await measured(bare, effort.seconds) })
    } else {
      const theirs = await measured(bare, effort.seconds)
      rounds.push({ ours: await measured(service, effort.seconds), theirs })
    }
  }
  for (const one of [service, bare, place]) await one.end()

  const ours = spreadOf(rounds.map((round) => round.ours.rate))
  const theirs = spreadOf(rounds.map((round) => round.theirs.rate))
  const ratio = spreadOf(rounds.map((round) => round.ours.rate / round.theirs.rate))
  say({
    what: `GET /users/me ${kind.name}${place.suffix}`,
    value: `${Math.round(ours.median)}/s`,
    beside: `bare app ${Math.round(theirs.median)}/s`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≥ ${kind.goal}`, isMet: ratio.median >= kind.goal },
  })
  const ourCost = spreadOf(rounds.map((round) => round.ours.costMicroseconds)).median
  const theirCost = spreadOf(rounds.map((round) => round.theirs.costMicroseconds)).median
  say({
    what: '  its processor time',
    value: `${ourCost.toFixed(0)} µs`,
    beside: `bare app ${theirCost.toFixed(0)} µs`,
    ratio: (theirCost / ourCost).toFixed(2),
  })
}
