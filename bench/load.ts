import { Agent, type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import autocannon from 'autocannon'
import { type Spread, spreadOf } from './statistics.ts'

/** A request as autocannon sends it, over and over. */
export interface Shot {
  readonly method?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

interface Rain {
  readonly url: string
  readonly shots: readonly Shot[]
  readonly connections: number
  readonly seconds?: number
  readonly amount?: number
}

/**
 * Sends requests as fast as they are answered, each connection the next when it has the last one's answer.
 * Answers how many of each status came a second. Throws when the server cannot be spoken to.
 */
export async function rain({ url, shots, connections, seconds, amount }: Rain): Promise<ReadonlyMap<number, number>> {
  let client = 0
  const each = Math.max(1, Math.floor(shots.length / connections))
  const { statusCodeStats, duration, errors } = await autocannon({
    url,
    connections,
    requests: shots.slice(0, 1),
    // Of many shots every connection has its own share.
    setupClient: (one) => {
      const from = (client++ * each) % shots.length
      one.setRequests(shots.slice(from, from + each))
    },
    ...(amount === undefined ? { duration: seconds ?? 1 } : { amount }),
  })
  if (errors > 0) throw new Error(`${errors} requests to ${url} failed`)
  return new Map(Object.entries(statusCodeStats).map(([status, { count }]) => [Number(status), count / duration]))
}

/** The requests a second that `status` answered, when it answered all. */
export function only(status: number, rates: ReadonlyMap<number, number>): number {
  const rate = rates.get(status)
  if (rate === undefined || rates.size !== 1) throw new Error(`not only ${status}: ${JSON.stringify([...rates])}`)
  return rate
}

/**
 * The same, where the load shares processors with what is measured and must cost as little as it can: bare sockets, one
 * for each shot, and answers that are looked at no closer than to know that they are whole and 200. Until the last
 * answer is there; answers how many came a second.
 */
export async function drizzle(url: string, shots: readonly Shot[], seconds: number): Promise<number> {
  const { hostname, port, host } = new URL(url)
  const started = performance.now()
  const end = started + seconds * 1000
  let count = 0
  const visitor = ({ method = 'GET', path, headers, body = '' }: Shot): Promise<void> => {
    const lines = Object.entries({ ...headers, Host: host, 'Content-Length': `${Buffer.byteLength(body)}` })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const request = Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => void socket.write(request))
      socket.setNoDelay()
      socket.once('error', reject)
      socket.on('data', (answer) => {
        if (!isWhole(answer)) reject(new Error(`${path} answered ${answer}`))
        count++
        if (performance.now() < end) return void socket.write(request)
        socket.destroy()
        resolve()
      })
    })
  }
  await Promise.all(shots.map(visitor))
  return (count * 1000) / (performance.now() - started)
}

/** A 200 that came in one piece, as short ones do. */
function isWhole(answer: Buffer): boolean {
  const text = answer.toString('latin1')
  const length = /\r\nContent-Length: (\d+)\r\n/i.exec(text)?.[1]
  return text.startsWith('HTTP/1.1 200 ') && answer.length === text.indexOf('\r\n\r\n') + 4 + Number(length)
}

/** One request over `agent`; answers the status. */
export function shoot(agent: Agent, url: string, shot: Shot): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers: OutgoingHttpHeaders = { ...shot.headers }
    if (shot.body !== undefined) headers['Content-Length'] = Buffer.byteLength(shot.body)
    const sent = request(`${url}${shot.path}`, { agent, method: shot.method ?? 'GET', headers }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.once('error', reject)
    sent.end(shot.body)
  })
}

interface Pace {
  readonly perSecond: number
  readonly seconds: number
}

/**
 * Sends a request every so often, whether or not the last ones were answered, and answers how long they took, in
 * milliseconds since the moment each was due: a server that stops for a second is seen by all who came in that second.
 */
export async function beat(
  url: string,
  shot: (turn: number) => Shot,
  { expect = 200, ...pace }: Pace & { expect?: number },
): Promise<Spread> {
  const took: number[] = []
  await onTheBeat(url, shot, pace, (status, milliseconds, { path }) => {
    if (status !== expect) throw new Error(`${path} answered ${status}`)
    took.push(milliseconds)
  })
  return spreadOf(took)
}

/** Sends as many requests a second, whatever becomes of them; answers how many of each status came back. */
export async function pour(url: string, shot: (turn: number) => Shot, pace: Pace): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  await onTheBeat(url, shot, pace, (status) => counts.set(status, (counts.get(status) ?? 0) + 1))
  return counts
}

async function onTheBeat(
  url: string,
  shot: (turn: number) => Shot,
  { perSecond, seconds }: Pace,
  answered: (status: number, milliseconds: number, shot: Shot) => void,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const sent: Promise<void>[] = []
  const started = performance.now()
  for (let turn = 0; turn < perSecond * seconds; turn++) {
    const due = started + (turn * 1000) / perSecond
    const early = due - performance.now()
    if (early > 0) await delay(Math.ceil(early)) // whole milliseconds, and never before it is due
    const aimed = shot(turn)
    const one = shoot(agent, url, aimed).then((status) => answered(status, performance.now() - due, aimed))
    one.catch(() => undefined) // told below
    sent.push(one)
  }
  await Promise.all(sent)
  agent.destroy()
}
