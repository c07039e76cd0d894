import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import type { EndSession } from '../../../application/sign-in/end-session.ts'
import type { ListSessions } from '../../../application/sign-in/list-sessions.ts'
import type { LogOutEverywhere } from '../../../application/sign-in/log-out-everywhere.ts'
import type { User } from '../../../domain/user.ts'
import { type Endpoint, endpoint, type Incoming } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { SessionsSchema, sessionBody } from '../schemas.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

export interface SessionNeeds {
  listSessions: ListSessions
  endSession: EndSession
  logOutEverywhere: LogOutEverywhere
  backends: readonly HttpBackend[]
}

type Target = (incoming: Pick<Incoming<null, null, Authenticated>, 'params'>) => Promise<User | null>

/** The sessions of the own account, and of any account for superusers. */
export function sessionEndpoints(needs: SessionNeeds, target: Target): Endpoint[] {
  const { listSessions, endSession, logOutEverywhere, backends } = needs
  const listed = { 200: { description: 'The newest sessions, at most 100', body: SessionsSchema } }
  const ended = { 204: { description: 'The session is ended', body: null } }
  const allEnded = { 204: { description: 'Every session and token is ended', body: null } }

  /** Removes the cookie when the session of the request has ended, as a logout does. */
  function goneFor(by: Authenticated, isOver: boolean): Reply {
    const backend = isOver ? backends.find(({ name }) => name === by.backend.name) : undefined
    return backend?.transport.clear() ?? { status: 204 }
  }

  async function list(by: Authenticated, target: User): Promise<Reply> {
    return { status: 200, body: (await listSessions.execute({ by, target })).map(sessionBody) }
  }

  async function end(by: Authenticated, target: User, id = ''): Promise<Reply> {
    await endSession.execute({ by, target, id })
    return goneFor(by, by.credential.id === id)
  }

  return [
    endpoint({
      method: 'GET',
      path: '/me/sessions',
      operationId: 'users:sessions',
      summary: 'List the stored sessions of the own account',
      access: 'user',
      replies: listed,
      handle: ({ by }) => list(by, by.user),
    }),
    endpoint({
      method: 'DELETE',
      path: '/me/sessions',
      operationId: 'users:log_out_everywhere',
      summary: 'End every login of the own account, this one too',
      access: 'user',
      replies: allEnded,
      async handle({ by, requestId, languages }) {
        await logOutEverywhere.execute({ by, requestId, languages })
        return goneFor(by, true)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/me/sessions/:id',
      textParameters: ['id'],
      operationId: 'users:end_session',
      summary: 'End a session of the own account',
      access: 'user',
      replies: ended,
      refusals: ['NOT_FOUND'],
      handle: ({ by, params }) => end(by, by.user, params.id),
    }),
    endpoint({
      method: 'GET',
      path: '/:user_id/sessions',
      operationId: 'users:sessions_of_user',
      summary: 'List the stored sessions of an account',
      access: 'superuser',
      target,
      replies: listed,
      handle: ({ by, target }) => list(by, target),
    }),
    endpoint({
      method: 'DELETE',
      path: '/:user_id/sessions',
      operationId: 'users:log_out_user',
      summary: 'End every login of an account',
      access: 'superuser',
      target,
      replies: allEnded,
      refusals: ['FRESH_LOGIN_REQUIRED'],
      async handle({ by, target, requestId, languages }) {
        await logOutEverywhere.execute({ by, target, requestId, languages })
        return goneFor(by, by.user.id === target.id)
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/:user_id/sessions/:id',
      textParameters: ['id'],
      operationId: 'users:end_session_of_user',
      summary: 'End a session of an account',
      access: 'superuser',
      target,
      replies: ended,
      refusals: ['FRESH_LOGIN_REQUIRED', 'NOT_FOUND'],
      handle: ({ by, target, params }) => end(by, target, params.id),
    }),
  ]
}
