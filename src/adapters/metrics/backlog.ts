import type { Outbox } from '../../application/ports/stores/outbox.ts'
import { Unavailable } from '../../domain/refusal.ts'
import type { Backlog } from './gauges.ts'

type Records = Pick<Outbox, 'count'>

/** An open tenant. */
interface Counted {
  readonly ports: { readonly outbox: Records; readonly tokenRequests: Records }
  /** Whether the store of users has answered. */
  isReady(): boolean
  /** Called when it does not answer. Never rejects. */
  failing(): Promise<unknown>
  readonly log: { warn(fields: object, message: string): void }
}

/** The sum over the tenants whose store of users answers, asked one after the other; `null` if there is none. */
export async function backlogOf(tenants: readonly Counted[]): Promise<Backlog | null> {
  let sum: Backlog | null = null
  for (const tenant of tenants) {
    const counts = await backlogIn(tenant)
    sum = sum === null || counts === null ? (sum ?? counts) : added(sum, counts)
  }
  return sum
}

/** The largest number that is counted for each tenant, so that counting stays fast while millions wait. */
const mostCounted = 10_000

/** The undelivered events and token requests; `null` while the store of users does not answer. */
async function backlogIn({ isReady, failing, log, ports }: Counted): Promise<Backlog | null> {
  if (!isReady()) return null
  const counts = async (records: Records) => ({
    waiting: await records.count('waiting', mostCounted),
    dead: await records.count('dead', mostCounted),
  })
  try {
    return { event: await counts(ports.outbox), token_request: await counts(ports.tokenRequests) }
  } catch (thrown) {
    if (thrown instanceof Unavailable) void failing()
    else log.warn({ err: thrown }, 'a background task failed')
    return null
  }
}

function added(one: Backlog, other: Backlog): Backlog {
  const sum = (kind: keyof Backlog) => ({
    waiting: one[kind].waiting + other[kind].waiting,
    dead: one[kind].dead + other[kind].dead,
  })
  return { event: sum('event'), token_request: sum('token_request') }
}
