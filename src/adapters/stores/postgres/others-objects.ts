import { Unavailable } from '../../../domain/refusal.ts'
import type { Connection } from './connection/connection.ts'
import { isBesideOthers } from './connection/faults.ts'

/** The answer of the server to a foreign key that is violated (appendix A of the manual of PostgreSQL). */
const foreignKeyViolation = '23503'

/** `$1` is the call stack of the error. */
const triggerIn = `
  SELECT tgname AS name, tgrelid::regclass::text AS table_name
  FROM pg_trigger JOIN pg_proc AS called ON called.oid = tgfoid
  WHERE NOT tgisinternal AND strpos($1, called.proname || '(') > 0 AND (
    tgrelid = '@users'::regclass
    OR tgrelid IN (SELECT conrelid FROM pg_constraint WHERE confrelid = '@users'::regclass)
  )
  ORDER BY tgrelid = '@users'::regclass DESC LIMIT 1`

/** Triggers and foreign keys of others that take part in a write of `users`. */
export function othersObjects({ all, answerOf }: Connection) {
  return {
    /** Runs a write. If a trigger of others fails in it, `Unavailable` names the trigger. */
    async namingTriggers<T>(write: () => Promise<T>): Promise<T> {
      try {
        return await write()
      } catch (error) {
        const answer = answerOf(error)
        if (answer === null || !isBesideOthers(answer)) throw error
        const [trigger] = await all<{ name: string; table_name: string }>(triggerIn, [answer.where]).catch(() => [])
        if (trigger === undefined && error instanceof Unavailable) throw error
        const what =
          trigger === undefined ? 'the write of users' : `the trigger ${trigger.name} of ${trigger.table_name}`
        throw new Unavailable(`${what} failed`, { cause: error })
      }
    },

    /** The foreign key that refused to delete a user; `null` for another error. A trigger may raise the code without a key. */
    referenceOf(error: unknown): string | null {
      const answer = answerOf(error)
      if (answer?.code !== foreignKeyViolation || answer.constraint === undefined) return null
      return `the foreign key ${answer.constraint} of ${answer.schema}.${answer.table}`
    },
  }
}
