import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type Shot, saturateBySockets } from '../load.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { login, meByBearer, meByCookie, type Person, people } from '../people.ts'
import { inPostgres, inSqlite, type Place } from '../places.ts'
import { longHashQueue, processorSeconds, type StartedService, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

/** Of readers, for each process: with fewer, it answers fewer requests in each iteration of its loop, and each costs more. */
const connections = 32
const clientsOfLogins = 32

interface Target {
  readonly url: string
  readonly processes: number
}

interface Kind {
  readonly name: string
  readonly open: () => Promise<Place>
  readonly rate: (target: Target, everybody: readonly Person[], seconds: number) => Promise<number>
  /** V8 has compiled the code after so many requests, which take longer on a busy machine. */
  readonly warmUp: number
  /** The length of a round, in rounds of the others. */
  readonly factor: number
  readonly goal: number
}

const reading = (shot: (person: Person) => Shot): Pick<Kind, 'rate' | 'warmUp' | 'factor'> => ({
  warmUp: 40_000,
  factor: 1,
  rate: (target, [person], seconds) =>
    person === undefined ? Promise.resolve(0) : ofWrk(target, shot(person), seconds),
})
const loggingIn: Pick<Kind, 'rate' | 'warmUp' | 'factor'> = {
  warmUp: 200,
  factor: 3,
  rate: ({ url }, everybody, seconds) =>
    saturateBySockets(
      url,
      everybody.map(({ email }) => login(email)),
      seconds,
    ),
}

const kinds: readonly Kind[] = [
  { name: 'GET /users/me by JWT', open: inSqlite, ...reading(meByBearer), goal: 1.25 },
  { name: 'GET /users/me by cookie', open: inPostgres, ...reading(meByCookie), goal: 1.5 },
  { name: 'POST /auth/jwt/login', open: inSqlite, ...loggingIn, goal: 0.95 },
]

/** Two processes of `serve --processes`, compared with one process. All share the processors with wrk, which uses little of them. */
export const processes: Measure = {
  name: 'processes',
  async run(effort, say) {
    if (spawnSync('wrk', ['--version']).error !== undefined) throw new Error('processes needs wrk')
    for (const kind of kinds) await compare(kind, effort, say)
  },
}

interface Sample {
  /** Requests a second. */
  readonly rate: number
  readonly costMicroseconds: number
}

async function compare(
  { name, open, rate, warmUp, factor, goal }: Kind,
  effort: Effort,
  say: (figure: Figure) => void,
) {
  const place = await open()
  const env = { ...longHashQueue, ...place.env }
  const one = await startService({ env })
  const everybody = await people(one, clientsOfLogins)
  const two = await startService({ env, dataFolder: one.dataFolder, args: ['--processes', '2'] })
  const measured = async (service: StartedService, seconds: number): Promise<Sample> => {
    const children = childrenOf(service.pid)
    const pids = [service.pid, ...children]
    const target = { url: service.url, processes: Math.max(1, children.length) }
    const spent = () => pids.reduce((sum, pid) => sum + processorSeconds(pid), 0)
    const [before, started] = [spent(), performance.now()]
    const perSecond = await rate(target, everybody, seconds)
    const count = (perSecond * (performance.now() - started)) / 1000
    return { rate: perSecond, costMicroseconds: ((spent() - before) / count) * 1e6 }
  }

  for (const service of [one, two]) {
    for (let left = warmUp; left > 0; left -= (await measured(service, factor)).rate * factor) {}
  }
  const rounds: { one: Sample; two: Sample }[] = []
  for (let round = 0; round < effort.rounds; round += 1) {
    const seconds = effort.seconds * factor
    const first = round % 2 === 0 ? await measured(one, seconds) : null
    const ofTwo = await measured(two, seconds)
    rounds.push({ one: first ?? (await measured(one, seconds)), two: ofTwo })
  }
  for (const opened of [two, one, place]) await opened.end()

  const line = (what: string, figure: (sample: Sample) => number, unit: string) => {
    const median = (of: 'one' | 'two') =>
      `${Math.round(spreadOf(rounds.map((round) => figure(round[of]))).median)}${unit}`
    const ratio = spreadOf(rounds.map((round) => figure(round.two) / figure(round.one)))
    const shown = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`
    return {
      ratio: ratio.median,
      line: { what, value: median('two'), beside: `one process ${median('one')}`, ratio: shown },
    }
  }
  const rates = line(`${name}${place.suffix}, two processes`, (sample) => sample.rate, '/s')
  say({ ...rates.line, goal: { text: `≥ ${goal}`, isMet: rates.ratio >= goal } })
  const costs = line('  its processor time', (sample) => sample.costMicroseconds, ' µs')
  say({ ...costs.line, goal: { text: '≤ 1.05', isMet: costs.ratio <= 1.05 } })
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children
    .split(' ')
    .filter((word) => word !== '')
    .map(Number)
}

/** Requests a second. Throws if one was not answered with 200. */
async function ofWrk({ url, processes }: Target, { path, headers }: Shot, seconds: number): Promise<number> {
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const words = ['-t1', '--timeout', '30s', `-c${connections * processes}`, `-d${seconds}s`, ...given, `${url}${path}`]
  const wrk = spawn('wrk', words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [out] = await Promise.all([text(wrk.stdout), once(wrk, 'exit')])
  const rate = Number(/^Requests\/sec: +([\d.]+)$/m.exec(out)?.[1])
  if (Number.isNaN(rate) || /Non-2xx|Socket errors/.test(out)) throw new Error(out)
  return rate
}
