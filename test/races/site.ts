import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, register } from '../support/http/client.ts'
import { enrol } from '../support/scenes/enrol.ts'
import { quickest } from '../support/scenes/quickest.ts'
import { superuserToken } from '../support/scenes/superuser.ts'
import { type Deployment, needsDeployment } from '../support/services/deployments.ts'
import { startTestService } from '../support/services/service.ts'
import type { PrintedEvent } from '../support/services/spawned-service.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

/** The app of `redemption.ts`. */
const oneApp = {
  PORTCULLIS_PAGES__ENABLED: 'true',
  PORTCULLIS_APPS__WEB__REDIRECT_URIS: 'https://web.example/cb',
  PORTCULLIS_APPS__WEB__BACKEND: 'jwt',
}

/** The front end whose passkeys all processes accept. Each has a port of its own, and so another origin. */
export const frontEnd = 'http://localhost:1'

/** Settings of a unique field `handle`. */
const uniqueHandle = {
  PORTCULLIS_USERS__FIELDS__HANDLE__TYPE: 'string',
  PORTCULLIS_USERS__FIELDS__HANDLE__UNIQUE: 'true',
}

export interface Person {
  readonly id: string
  readonly email: string
}

/** A running deployment of one process or two, and its many callers. */
export interface Site {
  /** Where the caller with this number calls: callers are spread over the processes. */
  url(caller?: number): string
  /** The events printed so far; the events of one process are in order. */
  events(): readonly PrintedEvent[]
  /** Waits for an event that satisfies `wanted`. */
  event(wanted: (event: PrintedEvent) => boolean): Promise<PrintedEvent>
  /** Resolves once every event is printed that was written before. */
  settled(): Promise<void>
  /** So many people with an account and `goodPassword`. */
  people(count: number): Promise<readonly Person[]>
  person(): Promise<Person>
  /** A superuser's token; only where a second process reaches the stores, since HTTP makes no superuser. */
  superuser(): string
  stop(): Promise<void>
}

export interface Processes {
  readonly urls: readonly string[]
  events(): readonly PrintedEvent[]
  /** The lines of the logs. */
  logged(): readonly string[]
  stop(): Promise<void>
}

export type Start = (env: Readonly<Record<string, string>>, dataFolder: string) => Promise<Processes>

export async function oneProcess(env: Readonly<Record<string, string>>, dataFolder: string): Promise<Processes> {
  const service = await startTestService(env, { dataFolder })
  return {
    urls: [service.url],
    events: () => service.events,
    logged: () => service.logLines,
    stop: () => service.stop(),
  }
}

/** They start at the same time, also on stores that hold nothing, not even tables. */
function processes(count: number): Start {
  return async (env, dataFolder) => {
    const started = { ...env, PORTCULLIS_DATA_FOLDER: dataFolder, PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60' }
    const services = await Promise.all(Array.from({ length: count }, () => spawnService(started)))
    return {
      urls: services.map(({ url }) => url),
      events: () => services.flatMap(({ events }) => events),
      logged: () => services.flatMap(({ errors }) => errors),
      async stop() {
        const ends = await Promise.all(services.map((service) => service.end('SIGTERM')))
        if (ends.some((end) => end !== 0)) throw new Error(`the services ended with ${ends.join(' and ')}`)
      },
    }
  }
}

export const twoProcesses = processes(2)
export const fourProcesses = processes(4)

async function startSite(deployment: Deployment, start: Start): Promise<Site> {
  const factors = { PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true', PORTCULLIS_HTTP__ALLOWED_ORIGINS: frontEnd }
  const env = { ...(await deployment.settings()), ...quickest, ...uniqueHandle, ...oneApp, ...factors }
  const dataFolder = join(scratchFolder(), 'data')
  const { urls, events, stop } = await start(env, dataFolder)
  const url = (caller = 0): string => urls[caller % urls.length] ?? ''
  const superuser = deployment.isShared ? await superuserToken(url(), env, dataFolder) : null

  const event = (wanted: (event: PrintedEvent) => boolean): Promise<PrintedEvent> =>
    eventually('the event', () => events().find(wanted))

  async function people(count: number): Promise<readonly Person[]> {
    const addresses = Array.from({ length: count }, newAddress)
    if (deployment.isShared) return await enrol(env, dataFolder, addresses)
    return await Promise.all(addresses.map((address, caller) => register(url(caller), address)))
  }

  async function person(): Promise<Person> {
    const [somebody] = await people(1)
    if (somebody === undefined) throw new Error('nobody was enrolled')
    return somebody
  }

  return {
    url,
    events,
    event,
    people,
    person,
    async settled() {
      // Events fall due in order of writing, and this one's is the last; a service that wrote it does not wait for
      // its next look into the store.
      const { id } = await register(url(), newAddress())
      await event(({ user }) => user.id === id)
      await delay(100)
    },
    superuser() {
      if (superuser === null) throw new Error(`there is no superuser in ${deployment.name}`)
      return superuser
    },
    async stop() {
      await stop()
      await deployment.remove(env)
    },
  }
}

/** Starts a site before the tests of a suite, and stops it after them. */
export function siteOf(deployment: Deployment, start: Start): () => Site {
  let started: Site | null = null
  before(async function () {
    await needsDeployment(this, deployment)
    started = await startSite(deployment, start)
  })
  after(async () => {
    await started?.stop()
  })
  return () => {
    if (started === null) throw new Error('the site is not started')
    return started
  }
}

/** As many as the races have callers. */
export const callers = 64

/** The results of `act` for each of so many concurrent callers. */
export function atOnce<T>(act: (caller: number) => Promise<T>, count = callers): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, caller) => act(caller)))
}

let lastAddress = 0

export function newAddress(): string {
  lastAddress += 1
  return `user-${lastAddress}-${process.pid}@example.com`
}

/** How many answers there were of each status and code: `{ '201': 1, '400 BAD': 63 }`. */
export function tally(answers: readonly { status: number; body: unknown }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const { detail } = (body ?? {}) as { detail?: string | { readonly code: string } } // safe: as every refusal
    const code = typeof detail === 'object' ? detail.code : detail
    const key = code === undefined ? `${status}` : `${status} ${code}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** Whether this address and password log in. */
export async function logsIn(url: string, email: string, password = goodPassword): Promise<boolean> {
  const { status } = await call(url, 'POST', '/auth/jwt/login', { form: { username: email, password } })
  return status === 200
}

/** The token that a handler gets for the address. */
export async function tokenFor(site: Site, path: string, event: string, email: string): Promise<string> {
  await call(site.url(), 'POST', path, { json: { email } })
  const printed = await site.event((one) => one.event === event && one.user.email === email)
  return printed.token ?? ''
}
