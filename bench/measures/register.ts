import { type Shot, saturate } from '../load.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { login, meByBearer, password, people, registration } from '../people.ts'
import { executable, longHashQueue, processorSeconds, type Server, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const connections = 8
/** A request that hashes takes long, so a round must be longer. */
const roundFactor = 3
const warmUpSeconds = 6
/** The executable of another release, `dist/portcullis.js` of its clone, to compare with. */
const before = process.env.BENCH_BEFORE

const text = { type: 'string', maxLength: 100 }
const fields = {
  first_name: { ...text, atRegistration: 'required' },
  last_name: { ...text, title: { en: 'Last name', de: 'Nachname' } },
  username: { ...text, pattern: '^[A-Za-z0-9_.]+$', unique: true },
  birthday: { ...text, maxLength: 255, format: 'date' },
  newsletter: { type: 'boolean', default: false },
  age: { type: 'integer', minimum: 0, maximum: 150 },
  height: { type: 'number' },
  tags: { type: 'array', maxItems: 5, items: { maxLength: 20 } },
  plan: { ...text, enum: ['free', 'pro'], default: 'free', readOnly: true, claim: true },
  note: { ...text, private: true },
}
const values = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  birthday: '1815-12-10',
  newsletter: true,
  age: 36,
  height: 1.65,
  tags: ['mathematics', 'engines'],
  note: 'knows Babbage',
}

interface Sample {
  /** Requests a second. */
  readonly rate: number
  /** The processor time of one request. */
  readonly costMilliseconds: number
}

/** A service, and how its users register. */
interface Side {
  readonly name: string
  readonly server: Server
  readonly registers: (email: string) => Shot
}

/** Registrations, logins and GET /users/me: with ten own fields compared with none, and with another release. */
export const register: Measure = {
  name: 'register',
  async run(effort, say) {
    const env = { ...longHashQueue, PORTCULLIS_LIMITS__ENABLED: 'false' }
    const plain: Side = { name: 'no fields', server: await startService({ env }), registers: registration }
    const declared = { env, settings: { users: { fields } } }
    const withFields: Side = {
      name: 'ten fields',
      server: await startService(declared),
      registers: (email) => {
        const body = JSON.stringify({ email, password, ...values, username: email.replace('@', '_at_') })
        return { ...registration(email), body }
      },
    }
    await compare(withFields, plain, 0.9, effort, say)
    await withFields.server.end()
    if (before !== undefined && before !== executable) {
      const former = await startService({ env, program: before })
      await compare(plain, { name: 'the other release', server: former, registers: registration }, 0.9, effort, say)
      await former.end()
    }
    await plain.server.end()
  },
}

let last = 0
const newEmail = (): string => `new.${++last}@example.com`

async function compare(
  one: Side,
  other: Side,
  goal: number,
  effort: Effort,
  say: (figure: Figure) => void,
): Promise<void> {
  const [ours, theirs] = [await operationsOf(one), await operationsOf(other)]
  for (const [what, shots] of ours) {
    const sides = [
      { ...one, shots },
      { ...other, shots: theirs.get(what) ?? shots },
    ] as const
    for (const { server, shots } of sides) await measured(server, shots, warmUpSeconds)
    const seen: (readonly [Sample, Sample])[] = []
    for (let round = 0; round < effort.rounds; round++) {
      const [a, b] = round % 2 === 0 ? sides : [sides[1], sides[0]]
      const first = await measured(a.server, a.shots, effort.seconds * roundFactor)
      const second = await measured(b.server, b.shots, effort.seconds * roundFactor)
      seen.push(round % 2 === 0 ? [first, second] : [second, first])
    }
    const rates = [0, 1].map((side) => spreadOf(seen.map((pair) => pair[side]?.rate ?? 0)).median.toFixed(0))
    const costs = [0, 1].map((side) => spreadOf(seen.map((pair) => pair[side]?.costMilliseconds ?? 0)).median)
    const ratio = spreadOf(seen.map(([a, b]) => a.rate / b.rate))
    say({
      what: `${what}, ${one.name}`,
      value: `${rates[0]}/s`,
      beside: `${other.name} ${rates[1]}/s`,
      ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
      goal: { text: `≥ ${goal}`, isMet: ratio.median >= goal },
    })
    say({
      what: '  its processor time',
      value: `${costs[0]?.toFixed(2)} ms`,
      beside: `${other.name} ${costs[1]?.toFixed(2)} ms`,
      ratio: ((costs[1] ?? 0) / (costs[0] ?? 1)).toFixed(2),
    })
  }
}

type Shots = readonly Shot[] | (() => Shot)

async function operationsOf({ server, registers }: Side): Promise<ReadonlyMap<string, Shots>> {
  const everybody = await people(server, connections, { name: `someone.${++last}`, registers })
  return new Map<string, Shots>([
    ['POST /auth/register', () => registers(newEmail())],
    ['POST /auth/jwt/login', everybody.map(({ email }) => login(email))],
    ['GET /users/me by JWT', everybody.map(meByBearer)],
  ])
}

async function measured({ url, pid }: Server, shots: Shots, seconds: number): Promise<Sample> {
  const start = processorSeconds(pid)
  const rates = await saturate({ url, shots, connections, seconds })
  const [[status, rate] = [0, 0], ...others] = [...rates]
  if ((status !== 200 && status !== 201) || others.length > 0)
    throw new Error(`not only 200 or 201: ${JSON.stringify([...rates])}`)
  return { rate, costMilliseconds: ((processorSeconds(pid) - start) / (rate * seconds)) * 1000 }
}
