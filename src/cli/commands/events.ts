import { randomUUID } from 'node:crypto'
import { jsonId, parseEventId } from '../../domain/ids.ts'
import { objectionOfOperator } from '../agreement.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import { type GlobalOptions, withUsers } from '../settings.ts'

const command = { type: 'command' } as const

/** Prints the dead letters and then everything that waits, each as one line of JSON. */
export async function listEvents(options: GlobalOptions & { readonly limit: string }): Promise<ExitCode> {
  const limit = Number(options.limit)
  if (!Number.isInteger(limit) || limit < 1) {
    warn('--limit takes a whole number from 1')
    return 2
  }
  return await withUsers(options, async ({ listUndelivered }) => {
    let count = 0
    for await (const { email: _, ...undelivered } of listUndelivered.execute({ by: command })) {
      if (count === limit) {
        remark(`There are more than ${limit}: --limit <count>`)
        return 0
      }
      count++
      const { userId } = undelivered
      const isRead = await printed({ json: true }, '', { ...undelivered, userId: userId && jsonId(userId) })
      if (!isRead) return 0
    }
    if (count === 0) remark('Nothing waits, and there are no dead letters')
    return 0
  })
}

interface Selection {
  readonly id: string | undefined
  readonly sink?: string
}

/** Makes dead letters due again. */
export async function retryEvents(options: GlobalOptions & Selection & { readonly all?: true }): Promise<ExitCode> {
  const { id, sink, all = false } = options
  if (id !== undefined && all) return refused('give the id of one event or --all, not both')
  const wanted = id === undefined && !all ? null : selected(id, sink)
  if (wanted === null) return refused(id === undefined ? 'give the id of one event, or --all' : noId)
  return await withUsers(options, async ({ retryDeliveries }) => {
    const { due, expired, off } = await retryDeliveries.execute({ by: command, wanted, requestId: randomUUID() })
    const lines = [
      ...(due > 0 ? [`${due} due again: a running service or worker delivers them within seconds`] : []),
      ...(expired > 0
        ? [
            `${expired} not sent, because their links would no longer work: send new ones, or let the users ask for them`,
          ]
        : []),
    ]
    if (lines.length > 0 || options.json) {
      await printed(options, lines.join('\n'), { due, expired, off: Object.fromEntries(off) })
    }
    for (const [name, count] of off) {
      remark(
        `${count} not sent: the sink ${name} is switched off in these settings. Switch it on, or run "events discard"`,
      )
      if (name === 'handlers') remark('If a program of yours has the handlers, add --sink handlers')
    }
    if (due + expired + off.size > 0) return due > 0 || (id === undefined && off.size === 0) ? 0 : 1
    if (id === undefined) {
      remark('There are no dead letters')
      return 0
    }
    warn('no dead letter has this id. The service itself retries everything that waits')
    return 1
  })
}

/** Deletes undelivered events and requests, waiting and dead. */
export async function discardEvents(options: GlobalOptions & Selection & { readonly yes?: true }): Promise<ExitCode> {
  const { id, sink } = options
  const wanted = id === undefined && sink === undefined ? null : selected(id, sink)
  if (wanted === null) return refused(id === undefined ? 'give the id of one event, or --sink' : noId)
  const objection = await objectionOfOperator('They are not delivered any more, and cannot be restored', options)
  if (objection !== null) return objection
  return await withUsers(options, async ({ discardDeliveries }) => {
    const count = await discardDeliveries.execute({ by: command, wanted, requestId: randomUUID() })
    if (count > 0 || options.json) await printed(options, `${count} discarded`, { discarded: count })
    if (count === 0)
      warn('nothing like this waits, and there is no such dead letter; "events list" prints ids and sinks')
    return count > 0 ? 0 : 1
  })
}

const noId = 'this is no id of an event; `portcullis events list` prints the ids'

/** `null`: the id is none. */
function selected(id: string | undefined, sink: string | undefined) {
  const parsed = id === undefined ? undefined : parseEventId(id)
  return parsed === null ? null : { ...(parsed && { id: parsed }), ...(sink !== undefined && { sink }) }
}

function refused(objection: string): ExitCode {
  warn(objection)
  return 2
}
