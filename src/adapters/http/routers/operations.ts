import { Type } from 'typebox'
import { endpoint, type Router } from '../endpoint.ts'

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

/**
 * Liveness and readiness for an orchestrator.
 *
 * @param counts the numbers of tenants, if there are several; their names stay private
 */
export function operationsRouter(
  failing: () => Promise<readonly Failing[]>,
  counts?: () => { readonly open: number; readonly disabled: number },
): Router {
  const ofTenants = counts ? { tenants: Counts } : {}
  const Ready = Type.Object({ status: Type.Literal('ready'), ...ofTenants }, { title: 'Ready' })
  const NotReady = Type.Object({ ...notReady, ...ofTenants }, { title: 'NotReady' })
  return {
    tag: 'operations',
    prefix: '',
    endpoints: [
      endpoint({
        method: 'GET',
        path: '/healthz',
        operationId: 'operations:healthz',
        summary: 'Whether the process is alive; asks no store',
        access: 'public',
        answersHead: true,
        replies: { 200: { description: 'Alive', body: Alive } },
        async handle() {
          return { status: 200, body: { status: 'alive' } }
        },
      }),
      endpoint({
        method: 'GET',
        path: '/readyz',
        operationId: 'operations:readyz',
        summary: 'Whether every store answers',
        access: 'public',
        answersHead: true,
        replies: {
          200: { description: 'Ready', body: Ready },
          503: { description: 'Some stores do not answer', body: NotReady },
        },
        async handle() {
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
