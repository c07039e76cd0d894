import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { latencyAtRate, type Shot, saturate } from '../load.ts'
import type { Effort, Figure, Measure } from '../measure.ts'
import { login, meByBearer, type Person, people, registration } from '../people.ts'
import {
  longHashQueue,
  residentMegabytes,
  root,
  type StartedService,
  scratchFolder,
  startService,
} from '../processes.ts'
import { spreadOf } from '../statistics.ts'

/** The rate of the measured requests, and the number of clients that make other load. */
const perSecond = 200
const clients = 32
/** Lets the service finish requests whose clients have gone. */
const settleMilliseconds = 1000

const milliseconds = (value: number): string => `${value.toFixed(1)} ms`

/** GET /users/me while 32 clients log in without pause, and the memory after it. */
export const duringLogins: Measure = {
  name: 'during-logins',
  async run(effort, say) {
    const service = await startService({ env: longHashQueue })
    const crowd = await people(service, clients)
    const idle = residentMegabytes(service.pid)
    await compareWithQuiet(
      service,
      crowd,
      effort,
      say,
      `${clients} clients log in without pause`,
      50,
      async (seconds) => {
        const statuses = await saturate({
          url: service.url,
          shots: crowd.map(({ email }) => login(email)),
          connections: clients,
          seconds,
        })
        return `${Math.round(statuses.get(200) ?? 0)} logins/s`
      },
    )
    say({ what: '  resident memory', value: `${residentMegabytes(service.pid)} MB`, beside: `before ${idle} MB` })
    await service.end()
  },
}

const commitsPerSecond = { registrations: 20, changes: 80 }

/**
 * GET /users/me while 100 commits per second wait for a slow disk. Two processors cannot hash 100 passwords per second.
 * So 20 commits are registrations, and 80 change the case of an address, which is the same write without a hash.
 */
export const slowDisk: Measure = {
  name: 'slow-disk',
  async run(effort, say) {
    const library = join(scratchFolder(), 'slow-fsync.so')
    const compiled = spawnSync('gcc', [
      '-O2',
      '-shared',
      '-fPIC',
      '-o',
      library,
      join(root, 'bench', 'slow-fsync.c'),
      '-ldl',
    ])
    if (compiled.status !== 0) {
      say({ what: 'GET /users/me on a slow disk', value: 'not measured: gcc is needed' })
      return
    }
    const service = await startService({
      env: { ...longHashQueue, LD_PRELOAD: library, PORTCULLIS_HANDLERS__CONSOLE: 'true' },
    })
    const crowd = await people(service, clients)
    const { registrations, changes } = commitsPerSecond
    let round = 0
    const work = `${registrations} registrations/s and ${changes} changes of an account/s commit, fsync + 10 ms`
    await compareWithQuiet(service, crowd, effort, say, work, 60, async (seconds) => {
      const name = `newcomer.${round++}`
      const [, changed] = await Promise.all([
        latencyAtRate(service.url, (turn) => registration(`${name}.${turn}@example.com`), {
          perSecond: registrations,
          seconds,
          expect: 201,
        }),
        latencyAtRate(service.url, (turn) => respelling(crowd, turn), { perSecond: changes, seconds }),
      ])
      return `a change takes ${milliseconds(changed.median)}`
    })
    await service.end()
  },
}

/** Changes the address of each user in turn to upper case, and later back to lower case. */
function respelling(crowd: readonly Person[], turn: number): Shot {
  const person = crowd[turn % crowd.length]
  if (person === undefined) throw new Error('nobody is there')
  const email = Math.floor(turn / crowd.length) % 2 === 0 ? person.email.toUpperCase() : person.email
  return {
    method: 'PATCH',
    path: '/users/me',
    headers: { ...meByBearer(person).headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ email }),
  }
}

const requests = 50_000

/** GET /users/me during 50 000 forgot-password requests for unknown addresses. */
export const duringForgotPassword: Measure = {
  name: 'during-forgot-password',
  async run({ seconds, rounds }, say) {
    const service = await startService()
    const crowd = await people(service, clients)
    const amount = Math.round((requests * Math.min(rounds, 15)) / 15 / clients) * clients
    const each = Array.from({ length: amount }, (_, turn) => forgotPassword(`nobody.${turn}@example.com`))
    const probe = (time: number) => latencyAtRate(service.url, asking(crowd), { perSecond, seconds: time })

    await probe(seconds)
    const quiet = await probe(5 * seconds)
    let isOver = false
    const flood = saturate({ url: service.url, shots: each, connections: clients, amount }).finally(() => {
      isOver = true
    })
    const parts: number[] = []
    while (!isOver) parts.push((await probe(1)).p99)
    const statuses = [...(await flood)].map(([status, rate]) => `${Math.round(rate)}/s answered ${status}`).join(', ')
    await service.end()

    say({
      what: `GET /users/me, p99, during ${amount} forgot-password requests for made-up addresses`,
      value: milliseconds(spreadOf(parts).median),
      beside: `quiet ${milliseconds(quiet.p99)}; ${statuses}`,
    })
  },
}

const forgotPassword = (email: string): Shot => ({
  method: 'POST',
  path: '/auth/forgot-password',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ email }),
})

function asking(crowd: readonly Person[]): (turn: number) => Shot {
  const shots = crowd.map(meByBearer)
  return (turn) => shots[turn % shots.length] ?? { path: '/users/me', headers: {} }
}

/** Measures three times in turn, without and with `work`. */
async function compareWithQuiet(
  service: StartedService,
  crowd: readonly Person[],
  { seconds }: Effort,
  say: (figure: Figure) => void,
  what: string,
  goalMilliseconds: number,
  work: (seconds: number) => Promise<string>,
): Promise<void> {
  const probe = (time: number) => latencyAtRate(service.url, asking(crowd), { perSecond, seconds: time })
  await probe(seconds)
  const quiet: number[] = []
  const busy: number[] = []
  let note = ''
  for (let round = 0; round < 3; round++) {
    quiet.push((await probe(2 * seconds)).p99)
    const working = work(5 * seconds + 1)
    busy.push((await probe(5 * seconds)).p99)
    note = await working
    await delay(settleMilliseconds)
  }
  const p99 = spreadOf(busy)
  say({
    what: `GET /users/me, p99, while ${what}`,
    value: `${milliseconds(p99.median)} (${p99.min.toFixed(1)}–${p99.max.toFixed(1)})`,
    beside: `quiet ${milliseconds(spreadOf(quiet).median)}; ${note}`,
    goal: { text: `≤ ${goalMilliseconds} ms`, isMet: p99.median <= goalMilliseconds },
  })
}
