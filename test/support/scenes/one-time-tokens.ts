import { eventually } from '../eventually.ts'
import { call } from '../http/client.ts'
import type { TestService } from '../services/service.ts'
import type { PrintedEvent } from '../services/spawned-service.ts'
import { inSqlite } from '../stores/store-contents.ts'

const asking = {
  on_after_forgot_password: '/auth/forgot-password',
  on_after_request_verify: '/auth/request-verify-token',
} as const

/** Asks for a token and waits until the handler gets it. */
export async function askForToken(service: TestService, handler: keyof typeof asking, email: string): Promise<string> {
  const before = service.events.length
  const isNext = (event: PrintedEvent): boolean =>
    event.event === handler && event.user.email === email && service.events.indexOf(event) >= before
  const answer = await call(service.url, 'POST', asking[handler], { json: { email } })
  if (answer.status !== 202) throw new Error(`asking for a token answered ${answer.status} ${answer.text}`)
  const { token } = await service.event(isNext)
  if (token === undefined) throw new Error('the handler got no token')
  return token
}

export const resetToken = (service: TestService, email: string) =>
  askForToken(service, 'on_after_forgot_password', email)
export const verifyToken = (service: TestService, email: string) =>
  askForToken(service, 'on_after_request_verify', email)

/** Waits until a service on SQLite has settled every request: while one waits, another for its address changes nothing. */
export function requestsSettled({ dataFolder }: TestService): Promise<boolean> {
  const waiting = () =>
    inSqlite(dataFolder, (db) => db.prepare<[], number>('SELECT count(*) FROM token_requests').pluck().get())
  return eventually('no request to wait', () => waiting() === 0)
}
