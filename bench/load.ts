import { Agent, type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import autocannon, { type Options } from 'autocannon'
import { type Spread, spreadOf } from './statistics.ts'

/** A request that the load sends repeatedly. */
export interface Shot {
  readonly method?: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

interface Saturation {
  readonly url: string
  /** The requests of all connections, or a function that makes each request. */
  readonly shots: readonly Shot[] | (() => Shot)
  readonly connections: number
  readonly seconds?: number
  readonly amount?: number
}

/**
 * Closed-loop load: each connection sends its next request after the previous answer. Resolves to the rate of each status.
 * Throws if a request fails without an answer.
 */
export async function saturate({
  url,
  shots,
  connections,
  seconds,
  amount,
}: Saturation): Promise<ReadonlyMap<number, number>> {
  const { statusCodeStats, duration, errors } = await autocannon({
    url,
    connections,
    ...(typeof shots === 'function'
      ? { requests: [{ setupRequest: (request) => ({ ...request, ...shots() }) }] }
      : shared(shots, connections)),
    ...(amount === undefined ? { duration: seconds ?? 1 } : { amount }),
  })
  if (errors > 0) throw new Error(`${errors} requests to ${url} failed`)
  return new Map(Object.entries(statusCodeStats).map(([status, { count }]) => [Number(status), count / duration]))
}

/** Each connection sends its own share of the requests. */
function shared(shots: readonly Shot[], connections: number): Pick<Options, 'requests' | 'setupClient'> {
  let client = 0
  const each = Math.max(1, Math.floor(shots.length / connections))
  return {
    requests: shots.slice(0, 1),
    setupClient: (one) => {
      const from = (client++ * each) % shots.length
      one.setRequests(shots.slice(from, from + each))
    },
  }
}

/** The rate of `status`. Throws if there was another status. */
export function only(status: number, rates: ReadonlyMap<number, number>): number {
  const rate = rates.get(status)
  if (rate === undefined || rates.size !== 1) throw new Error(`not only ${status}: ${JSON.stringify([...rates])}`)
  return rate
}

/**
 * The same load with little processor time, for load that shares processors with the server. It uses one bare socket for
 * each request, and checks only that an answer is complete and 200. Resolves to the rate after the last answer.
 */
export async function saturateBySockets(url: string, shots: readonly Shot[], seconds: number): Promise<number> {
  const { hostname, port, host } = new URL(url)
  const started = performance.now()
  const end = started + seconds * 1000
  let count = 0
  const visitor = (shot: Shot): Promise<void> => {
    const request = Buffer.from(requestText(host, shot))
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => void socket.write(request))
      socket.setNoDelay()
      socket.once('error', reject)
      socket.on('data', (answer) => {
        if (!isWhole(answer)) reject(new Error(`${shot.path} answered ${answer}`))
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

/** The request as it goes over the network. */
export function requestText(host: string, { method = 'GET', path, headers, body = '' }: Shot): string {
  const lines = Object.entries({ ...headers, Host: host, 'Content-Length': `${Buffer.byteLength(body)}` })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `${method} ${path} HTTP/1.1\r\n${head}\r\n${body}`
}

/** Whether the chunk is one complete answer with status 200. Short answers arrive in one chunk. */
function isWhole(answer: Buffer): boolean {
  const text = answer.toString('latin1')
  const length = /\r\nContent-Length: (\d+)\r\n/i.exec(text)?.[1]
  return text.startsWith('HTTP/1.1 200 ') && answer.length === text.indexOf('\r\n\r\n') + 4 + Number(length)
}

/** Sends one request through `agent`, and resolves to the status. */
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
 * Open-loop load: sends requests at a fixed rate, without waiting for answers. The latency, in milliseconds, starts when a
 * request is due. So a server that stops for one second delays all requests of that second.
 */
export async function latencyAtRate(
  url: string,
  shot: (turn: number) => Shot,
  { expect = 200, ...pace }: Pace & { expect?: number },
): Promise<Spread> {
  const took: number[] = []
  await sendAtRate(url, shot, pace, (status, milliseconds, { path }) => {
    if (status !== expect) throw new Error(`${path} answered ${status}`)
    took.push(milliseconds)
  })
  return spreadOf(took)
}

/** Open-loop load that accepts every status. Resolves to the number of answers with each status. */
export async function statusesAtRate(
  url: string,
  shot: (turn: number) => Shot,
  pace: Pace,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>()
  await sendAtRate(url, shot, pace, (status) => counts.set(status, (counts.get(status) ?? 0) + 1))
  return counts
}

async function sendAtRate(
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
    if (early > 0) await delay(Math.ceil(early)) // timers take whole milliseconds, and must not fire early
    const aimed = shot(turn)
    const one = shoot(agent, url, aimed).then((status) => answered(status, performance.now() - due, aimed))
    one.catch(() => undefined) // Promise.all below reports it
    sent.push(one)
  }
  await Promise.all(sent)
  agent.destroy()
}
