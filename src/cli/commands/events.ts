import { parseEventId } from '../../domain/ids.ts'
import { type ExitCode, printed, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'

/** Prints the dead letters and then everything that waits, each as one line of JSON. */
export async function listEvents(options: GlobalOptions & { readonly limit: string }): Promise<ExitCode> {
  const limit = Number(options.limit)
  if (!Number.isInteger(limit) || limit < 1) {
    warn('--limit takes a whole number from 1')
    return 2
  }
  return await withUsers(options, async ({ listUndelivered }) => {
    let count = 0
    for await (const undelivered of listUndelivered.execute()) {
      if (count === limit) {
        process.stderr.write(`There are more than ${limit}: --limit <count>\n`)
        return 0
      }
      count++
      const isRead = await printed(`${JSON.stringify(undelivered)}\n`)
      if (!isRead) return 0
    }
    if (count === 0) process.stderr.write('Nothing waits, and there are no dead letters\n')
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
    warn(objection)
    return 2
  }
  return await withUsers(options, async ({ retryDeliveries }) => {
    const { due, expired } = await retryDeliveries.execute(id ?? 'all')
    if (due > 0) process.stderr.write(`${due} due again: a running service or worker delivers them within seconds\n`)
    if (expired > 0) process.stderr.write(`${expired} not sent: too old for a token, so the user has to ask again\n`)
    if (due + expired > 0) return due > 0 || id === null ? 0 : 1
    if (id === null) {
      process.stderr.write('There are no dead letters\n')
      return 0
    }
    warn('no dead letter has this id. The service itself retries everything that waits')
    return 1
  })
}

function objectionTo(given: Selection, id: unknown): string | null {
  if (given.id === undefined) return given.all ? null : 'give the id of one event, or --all'
  if (given.all) return 'give the id of one event or --all, not both'
  return id === null ? 'this is no id of an event; `portcullis events list` prints the ids' : null
}
