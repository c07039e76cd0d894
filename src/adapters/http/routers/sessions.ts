import Type from 'typebox'
import type { ReadUser } from '../../../application/accounts/read-user.ts'
import type { LookUpUser } from '../../../application/administration/look-up-user.ts'
import type { Authenticated } from '../../../application/sign-in/authenticate.ts'
import type { EndSession } from '../../../application/sign-in/end-session.ts'
import type { ListSessions } from '../../../application/sign-in/list-sessions.ts'
import type { LogOutEverywhere } from '../../../application/sign-in/log-out-everywhere.ts'
import type { User } from '../../../domain/user.ts'
import { type Endpoint, endpoint } from '../endpoint.ts'
import type { Reply } from '../reply.ts'
import { routes } from '../routes.ts'
import { SessionsSchema, sessionBody } from '../schemas.ts'
import type { HttpBackend } from '../transports/http-backend.ts'

export interface SessionUse {
  readUser: ReadUser
  lookUpUser: LookUpUser
  listSessions: ListSessions
  endSession: EndSession
  logOutEverywhere: LogOutEverywhere
  backends: readonly HttpBackend[]
}

type Path = { readonly params: Readonly<Record<string, string>> }

/** The user that the path names. */
export function target({ params }: Path, { readUser }: Pick<SessionUse, 'readUser'>): Promise<User | null> {
  return readUser.execute(params.user_id ?? '')
}

const listed = { 200: { description: 'The newest sessions, at most 100', body: SessionsSchema } }
const ended = { 204: { description: 'The session is ended', body: null } }
const allEnded = { 204: { description: 'Every session and token is ended', body: null } }

/** Removes the cookie when the session of the request has ended, as a logout does. */
function goneFor(by: Authenticated, isOver: boolean, { backends }: SessionUse): Reply {
  const backend = isOver ? backends.find(({ name }) => name === by.backend.name) : undefined
  return backend?.transport.clear() ?? { status: 204 }
}

async function list(by: Authenticated, target: User, { listSessions }: SessionUse): Promise<Reply> {
  return { status: 200, body: (await listSessions.execute({ by, target })).map(sessionBody) }
}

async function end(by: Authenticated, target: User, id = '', use: SessionUse): Promise<Reply> {
  await use.endSession.execute({ by, target, id })
  return goneFor(by, by.credential.id === id, use)
}

/** The sessions of the own account, and of any account for superusers. */
export const sessionEndpoints: readonly Endpoint<SessionUse>[] = [
  endpoint(routes.users.listMySessions, {
    operationId: 'users:sessions',
    isBeforeFactor: true,
    summary: 'List the stored sessions of the own account',
    replies: listed,
    handle: ({ by }, use: SessionUse) => list(by, by.user, use),
  }),
  endpoint(routes.users.endMyLogins, {
    operationId: 'users:log_out_everywhere',
    isBeforeFactor: true,
    summary: 'End every login of the own account, this one too',
    replies: allEnded,
    async handle({ by, request }, use: SessionUse) {
      await use.logOutEverywhere.execute({ by, target: by.user, ...request })
      return goneFor(by, true, use)
    },
  }),
  endpoint(routes.users.endMySession, {
    parameters: { id: Type.String() },
    operationId: 'users:end_session',
    isBeforeFactor: true,
    summary: 'End a session of the own account',
    replies: ended,
    refusals: ['NOT_FOUND'],
    handle: ({ by, params }, use: SessionUse) => end(by, by.user, params.id, use),
  }),
  endpoint(routes.users.listSessions, {
    operationId: 'users:sessions_of_user',
    summary: 'List the stored sessions of an account',
    target,
    replies: listed,
    async handle({ by, target, request }, use: SessionUse) {
      await use.lookUpUser.execute({ by, target, ...request })
      return await list(by, target, use)
    },
  }),
  endpoint(routes.users.endLogins, {
    operationId: 'users:log_out_user',
    summary: 'End every login of an account',
    target,
    replies: allEnded,
    refusals: ['FRESH_LOGIN_REQUIRED'],
    async handle({ by, target, request }, use: SessionUse) {
      await use.logOutEverywhere.execute({ by, target, ...request })
      return goneFor(by, by.user.id === target.id, use)
    },
  }),
  endpoint(routes.users.endSession, {
    parameters: { id: Type.String() },
    operationId: 'users:end_session_of_user',
    summary: 'End a session of an account',
    target,
    replies: ended,
    refusals: ['FRESH_LOGIN_REQUIRED', 'NOT_FOUND'],
    handle: ({ by, target, params }, use: SessionUse) => end(by, target, params.id, use),
  }),
]
