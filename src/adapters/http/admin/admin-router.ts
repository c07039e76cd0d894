import { Type } from 'typebox'
import type {
  DiscardDeliveries,
  ListUndelivered,
  RetryDeliveries,
} from '../../../application/deliveries/undelivered.ts'
import type { DeliveryState } from '../../../application/ports/stores/page.ts'
import { type EventId, parseEventId } from '../../../domain/ids.ts'
import { Refusal } from '../../../domain/refusal.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { DeliverySchema, deliveryBody } from './delivery-body.ts'

/** The state of a tenant for its superusers. */
export interface Health {
  readonly stores: readonly { readonly store: string; readonly roles: readonly string[]; readonly isDown: boolean }[]
  /** The events and token requests that are not delivered, at most 10 000 of a kind. */
  readonly undelivered: Readonly<Record<DeliveryState, number>>
  /** The numbers of tenants of the process, because their names stay private; `null` without tenants. */
  readonly tenants: { readonly open: number; readonly disabled: number } | null
}

export interface Use {
  listUndelivered: ListUndelivered
  retryDeliveries: RetryDeliveries
  discardDeliveries: DiscardDeliveries
  tenantName: string
  health: () => Promise<Health>
}

/** The longest list. */
const most = 100

export const DeliveriesSchema = Type.Object(
  { items: Type.Array(DeliverySchema), has_more: Type.Boolean() },
  { title: 'Deliveries', additionalProperties: false },
)

export const HealthSchema = Type.Object(
  {
    tenant: Type.String(),
    stores: Type.Array(
      Type.Object({ store: Type.String(), roles: Type.Array(Type.String()), is_down: Type.Boolean() }),
    ),
    undelivered: Type.Object({ waiting: Type.Integer(), dead: Type.Integer() }),
    tenants: Type.Unsafe<{ readonly open: number; readonly disabled: number } | null>({
      type: ['object', 'null'],
      description: 'Numbers of tenants; null without',
    }),
  },
  { title: 'Health', additionalProperties: false },
)

export const RetriedSchema = Type.Object(
  { due: Type.Integer(), expired: Type.Integer(), sinks_off: Type.Array(Type.String()) },
  { title: 'Retried', additionalProperties: false },
)

const parameters = { id: Type.String({ format: 'uuid', description: 'Of the event or the request for a token' }) }

const target = async ({ params }: { readonly params: Readonly<Record<string, string>> }): Promise<EventId | null> =>
  parseEventId(params.id ?? '')

const bySink = [{ name: 'sink', description: 'Only the delivery to this receiver, such as `mail`; otherwise to all' }]

function sinkOf(query: URLSearchParams): { readonly sink?: string } {
  const sink = query.get('sink')
  return sink === null ? {} : { sink }
}

const demands = ['FRESH_LOGIN_REQUIRED'] as const

const endpoints = [
  endpoint(routes.admin.listDeliveries, {
    operationId: 'admin:deliveries',
    summary: 'List mail and events that were not delivered: dead letters, then those that wait; at most 100',
    replies: { 200: { description: 'The deliveries', body: DeliveriesSchema } },
    refusals: ['NOT_FOUND'],
    async handle({ by }, { listUndelivered }: Use) {
      const items = []
      for await (const one of listUndelivered.execute({ by })) {
        if (items.length === most) return { status: 200, body: { items, has_more: true } }
        items.push(deliveryBody(one))
      }
      return { status: 200, body: { items, has_more: false } }
    },
  }),
  endpoint(routes.admin.retryDelivery, {
    operationId: 'admin:retry_delivery',
    summary: 'Make a dead letter due again',
    parameters,
    query: bySink,
    target,
    replies: { 200: { description: 'What became of it', body: RetriedSchema } },
    refusals: [...demands, 'NOT_FOUND'],
    async handle({ by, target: id, query, request }, { retryDeliveries }: Use) {
      const { due, expired, off } = await retryDeliveries.execute({ by, wanted: { id, ...sinkOf(query) }, ...request })
      if (due + expired + off.size === 0) throw new Refusal('NOT_FOUND')
      return { status: 200, body: { due, expired, sinks_off: [...off.keys()] } }
    },
  }),
  endpoint(routes.admin.discardDelivery, {
    operationId: 'admin:discard_delivery',
    summary: 'Delete a dead letter',
    parameters,
    query: bySink,
    target,
    replies: { 204: { description: 'Deleted', body: null } },
    refusals: [...demands, 'NOT_FOUND'],
    async handle({ by, target: id, query, request }, { discardDeliveries }: Use) {
      const count = await discardDeliveries.execute({ by, wanted: { id, ...sinkOf(query) }, ...request })
      if (count === 0) throw new Refusal('NOT_FOUND')
      return { status: 204 }
    },
  }),
  endpoint(routes.admin.health, {
    operationId: 'admin:health',
    summary: 'Read the state of the stores and of the deliveries',
    replies: { 200: { description: 'The state', body: HealthSchema } },
    refusals: ['NOT_FOUND'],
    async handle(_incoming, { tenantName, health }: Use) {
      const { stores, undelivered, tenants } = await health()
      const body = {
        tenant: tenantName,
        stores: stores.map(({ store, roles, isDown }) => ({ store, roles, is_down: isDown })),
        undelivered,
        tenants,
      }
      return { status: 200, body }
    },
  }),
]

/** The routes of the console beside those for users. Programs may call them, too. */
export const adminRouter: Router<Use> = {
  tag: 'admin',
  endpoints: endpoints.map((one) => ({ ...one, isOfConsole: true })),
}
