import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { only, type Shot, saturate } from '../load.ts'
import { bothCores, loadCore, moveTo, serverCore } from '../machine.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { meByBearer, meByCookie, type Person, people } from '../people.ts'
import { processorSeconds, type Server, secret, startBare, startRedis, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const connections = 32
const warmUpSeconds = 4
const goal = 0.7

interface Sample {
  /** Requests a second. */
  readonly rate: number
  /** The processor time of one request. It is steadier than the rate on a busy machine. */
  readonly costMicroseconds: number
}

interface Kind {
  readonly name: string
  readonly kind: 'jwt' | 'cookie-sqlite' | 'cookie-redis'
  readonly shot: (person: Person) => Shot
}

const kinds: readonly Kind[] = [
  { name: 'by JWT', kind: 'jwt', shot: meByBearer },
  { name: 'by cookie, session in SQLite', kind: 'cookie-sqlite', shot: meByCookie },
  { name: 'by cookie, session in Redis', kind: 'cookie-redis', shot: meByCookie },
]

/** GET /users/me, compared with a bare application with the same look-ups. Each has its own processor while it runs. */
export const me: Measure = {
  name: 'me',
  async run(effort, say) {
    moveTo(loadCore)
    try {
      for (const kind of kinds) await compare(kind, effort, say)
    } finally {
      moveTo(bothCores)
    }
  },
}

async function compare({ name, kind, shot }: Kind, effort: Effort, say: (figure: Figure) => void): Promise<void> {
  const redis = kind === 'cookie-redis' ? await startRedis(loadCore) : null
  const env: Record<string, string> =
    redis === null ? {} : { PORTCULLIS_STORES__SESSIONS__KIND: 'redis', PORTCULLIS_STORES__SESSIONS__URL: redis.url }
  const service = await startService({ env, cores: serverCore })
  const shots = (await people(service, 2 * connections)).map(shot)
  const bare = await startBare(
    'bare.mjs',
    {
      BARE_KIND: kind,
      BARE_FILE: `${service.dataFolder}/portcullis.sqlite`,
      BARE_JWT_KEY: derivedKeys(secret).jwtKey.export().toString('base64'),
      ...(redis !== null && { BARE_REDIS: redis.url }),
    },
    serverCore,
  )
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
  for (const server of [service, bare, redis]) await server?.end()

  const ours = spreadOf(rounds.map((round) => round.ours.rate))
  const theirs = spreadOf(rounds.map((round) => round.theirs.rate))
  const ratio = spreadOf(rounds.map((round) => round.ours.rate / round.theirs.rate))
  say({
    what: `GET /users/me ${name}`,
    value: `${Math.round(ours.median)}/s`,
    beside: `bare app ${Math.round(theirs.median)}/s`,
    ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
    goal: { text: `≥ ${goal}`, isMet: ratio.median >= goal },
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
