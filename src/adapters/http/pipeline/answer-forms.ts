import { Type } from 'typebox'
import { Refusal } from '../../../domain/refusal.ts'
import { errorReply, statusOf } from '../errors.ts'
import type { Reply } from '../reply.ts'

const asInFastApi = (description: string) => Type.Boolean({ default: false, fastapiUsers: true, description })

/** The settings for clients that were written for fastapi-users. */
export const compatOptions = {
  preset: Type.Enum(['none', 'fastapi-users'], {
    default: 'none',
    description:
      'Sets the defaults of several settings to those of fastapi-users. A setting that is given takes precedence.',
  }),
  nullBodies: asInFastApi('Answers with the status 200 or 202 and without a body have the body `null`.'),
  plainReasons: asInFastApi('A `detail` whose `rule` is `custom` has no `rule`.'),
  stateCodes: asInFastApi(
    'A callback with a state of another form is `ACCESS_TOKEN_DECODE_ERROR`, and with an expired one `ACCESS_TOKEN_ALREADY_EXPIRED`, instead of `OAUTH_INVALID_STATE`.',
  ),
  documentNames: asInFastApi(
    '`/openapi.json` names operations, schemas, tags and the id of a user as FastAPI does, so that generated clients stay.',
  ),
}

export interface AnswerForms {
  readonly nullBodies: boolean
  readonly plainReasons: boolean
  readonly stateCodes: boolean
}

/** Gives the answer of an operation the form that the settings want. */
export function answerForms({ nullBodies, plainReasons }: Omit<AnswerForms, 'stateCodes'>) {
  return async (answer: () => Promise<Reply>): Promise<Reply> => {
    const reply = plainReasons ? await answer().catch(plainReason) : await answer()
    const isBare =
      reply.body === undefined && reply.page === undefined && (reply.status === 200 || reply.status === 202)
    return nullBodies && isBare ? { ...reply, body: null } : reply
  }
}

/** The answer to an objection of a handler. Rules of the service are unknown to fastapi-users, so they stay. */
function plainReason(thrown: unknown): Reply {
  if (!(thrown instanceof Refusal) || thrown.rule !== 'custom') throw thrown
  const { code, reason } = thrown
  return errorReply(statusOf[code].status, { code, reason })
}
