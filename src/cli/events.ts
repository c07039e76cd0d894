import type { UserStoreSession } from '../config/composition/tenant.ts'
import { parseEventId } from '../domain/ids.ts'
import type { ExitCode } from './exit-code.ts'
import { type GlobalOptions, usersHere } from './settings.ts'

/** Prints the oldest dead letters, each as one line of JSON. */
export async function listEvents(options: GlobalOptions & { readonly limit: string }): Promise<ExitCode> {
  const limit = Number(options.limit)
  if (!Number.isInteger(limit) || limit < 1) {
    process.stderr.write('portcullis: --limit takes a whole number from 1\n')
    return 2
  }
  return await withOutbox(options, async (outbox) => {
    const dead = await outbox.listDead(limit + 1)
    for (const { event, attempts, reason, diedAt } of dead.slice(0, limit)) {
      const { id, type, user, at } = event
      process.stdout.write(`${JSON.stringify({ id, type, userId: user.id, at, attempts, reason, diedAt })}\n`)
    }
    if (dead.length === 0) process.stderr.write('There are no dead letters\n')
    if (dead.length > limit) process.stderr.write(`These are the oldest ${limit}; there are more: --limit <count>\n`)
    return 0
  })
}

interface Selection {
  readonly id: string | undefined
  readonly all?: true
}

/** Makes dead letters due again. */
export async function retryEvents(options: GlobalOptions & Selection): Promise<ExitCode> {
  const id = options.id === undefined ? null : parseEventId(options.id)
  const objection = objectionTo(options, id)
  if (objection !== null) {
    process.stderr.write(`portcullis: ${objection}\n`)
    return 2
  }
  return await withOutbox(options, async (outbox) => {
    const count = await outbox.revive(id ?? 'all', new Date())
    if (count === 0) {
      process.stderr.write(id === null ? 'There are no dead letters\n' : 'portcullis: no such dead letter\n')
      return id === null ? 0 : 1
    }
    process.stderr.write(`${count} due again: a running service or worker delivers them within seconds\n`)
    return 0
  })
}

function objectionTo(given: Selection, id: unknown): string | null {
  if (given.id === undefined) return given.all ? null : 'give the id of one event, or --all'
  if (given.all) return 'give the id of one event or --all, not both'
  return id === null ? 'this is no id of an event; `portcullis events list` prints the ids' : null
}

async function withOutbox(
  where: GlobalOptions,
  work: (outbox: UserStoreSession['outbox']) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { outbox, close } = await usersHere(where)
  try {
    return await work(outbox)
  } finally {
    await close()
  }
}
