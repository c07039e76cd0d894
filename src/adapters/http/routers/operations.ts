import { Type } from 'typebox'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'

interface Failing {
  readonly store: string
  readonly roles: readonly string[]
}

const Alive = Type.Object({ status: Type.Literal('alive') }, { title: 'Alive' })
const Counts = Type.Object({ open: Type.Integer(), disabled: Type.Integer() })
const notReady = {
  detail: Type.Literal('SERVICE_UNAVAILABLE'),
  failing: Type.Array(Type.Object({ store: Type.String(), roles: Type.Array(Type.String()) })),
}

interface Use {
  readonly failing: () => Promise<readonly Failing[]>
  /** The numbers of tenants, because their names stay private; `null` without tenants. */
  readonly counts: (() => { readonly open: number; readonly disabled: number }) | null
}

/** Liveness and readiness for an orchestrator. */
export function operationsRouter(hasTenants: boolean): Router<Use> {
  const ofTenants = hasTenants ? { tenants: Counts } : {}
  const Ready = Type.Object({ status: Type.Literal('ready'), ...ofTenants }, { title: 'Ready' })
  const NotReady = Type.Object({ ...notReady, ...ofTenants }, { title: 'NotReady' })
  return {
    tag: 'operations',
    endpoints: [
      endpoint(routes.operations.alive, {
        operationId: 'operations:healthz',
        summary: 'Whether the process is alive; asks no store',
        answersHead: true,
        replies: { 200: { description: 'Alive', body: Alive } },
        async handle() {
          return { status: 200, body: { status: 'alive' } }
        },
      }),
      endpoint(routes.operations.ready, {
        operationId: 'operations:readyz',
        summary: 'Whether every store answers',
        answersHead: true,
        replies: {
          200: { description: 'Ready', body: Ready },
          503: { description: 'Some stores do not answer', body: NotReady },
        },
        async handle(_incoming, { failing, counts }: Use) {
          const stores = await failing()
          const tenants = counts && { tenants: counts() }
          if (stores.length === 0) return { status: 200, body: { status: 'ready', ...tenants } }
          return {
            status: 503,
            headers: { 'Retry-After': '1' },
            body: {
              detail: 'SERVICE_UNAVAILABLE',
              failing: stores.map(({ store, roles }) => ({ store, roles })),
              ...tenants,
            },
          }
        },
      }),
    ],
  }
}
