import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { scratchModule } from '../adapters/events/scratch-module.ts'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn, register } from '../support/http/client.ts'
import type { Deployment } from '../support/services/deployments.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'
import { lease, promisedSeconds } from './lease.ts'

interface Note {
  readonly event: string
  readonly eventId: string
  readonly token?: string
  readonly did: 'hang' | 'return'
}

/** Handlers that record their arguments, and hang at the first call of each event. */
const hangingAtFirst = `
  const hangOnce = (event) => (user, ...rest) => {
    const { eventId } = rest.pop()
    const isFirst = !notes().includes(eventId)
    note({ event, eventId, token: rest[0], did: isFirst ? 'hang' : 'return' })
    if (isFirst) return new Promise(() => {})
  }
  export const on_after_register = hangOnce('register')
  export const on_after_forgot_password = hangOnce('forgot')
  export const on_after_request_verify = hangOnce('verify')`

/** Kills the service while handlers run: each delivery is repeated by the next one, tokens and all. */
export async function killAmidDeliveries(deployment: Deployment): Promise<void> {
  const settings = await deployment.settings()
  const module = scratchModule(hangingAtFirst)
  const handlers = {
    PORTCULLIS_HANDLERS__MODULE: fileURLToPath(module.url),
    PORTCULLIS_HANDLERS__TIMEOUT_SECONDS: '60', // so that none is called again before the kill
  }
  const env = { ...settings, ...lease, ...handlers }
  const folder = scratchFolder()
  const notes = () => module.notes() as Note[] // safe: the module above writes nothing else

  const killed = await spawnService(env, folder)
  const { email } = await register(killed.url, 'witness@example.com')
  await call(killed.url, 'POST', '/auth/forgot-password', { json: { email } })
  await call(killed.url, 'POST', '/auth/request-verify-token', { json: { email } })
  await eventually('all three handlers to be called', () => notes().length === 3)
  expect(await killed.end('SIGKILL')).to.equal('SIGKILL')
  const first = notes()
  expect(first.map(({ did }) => did)).to.deep.equal(['hang', 'hang', 'hang'])

  const service = await spawnService(env, folder)
  await eventually('all three handlers to be called again', () => notes().length >= 6, promisedSeconds)
  const byEvent = (some: Note[]) => some.map(({ event, eventId, token }) => `${event} ${eventId} ${token}`).sort()
  expect(byEvent(notes().slice(3))).to.deep.equal(byEvent(first))

  const token = (event: string) => first.find((note) => note.event === event)?.token
  const password = `${goodPassword} anew`
  const verified = await call(service.url, 'POST', '/auth/verify', { json: { token: token('verify') } })
  const reset = await call(service.url, 'POST', '/auth/reset-password', { json: { token: token('forgot'), password } })
  expect([verified.status, reset.status]).to.deep.equal([200, 200])
  await logIn(service.url, email, password)

  expect(await service.end('SIGTERM')).to.equal(0)
  module.remove()
  await deployment.remove(settings)
}
