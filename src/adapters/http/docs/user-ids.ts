import { type TSchema, Type } from 'typebox'
import type { IdKind } from '../../../domain/ids.ts'
import type { Endpoint, Router } from '../endpoint.ts'
import { pageOf } from '../schemas.ts'

const schemas: Readonly<Record<Exclude<IdKind, 'uuid'>, TSchema>> = {
  integer: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  objectid: Type.String({ pattern: '^[0-9a-f]{24}$' }),
}
/** The titles of the bodies with a user. */
const titles: readonly string[] = ['User', 'UserWithOAuthAccounts', 'UserExport']

/** A router as the OpenAPI document shows it, with users' ids of this kind. */
export function withUserIds<Of extends Router>(router: Of, ids: IdKind): Of {
  if (ids === 'uuid') return router
  return { ...router, endpoints: router.endpoints.map((endpoint) => described(endpoint, schemas[ids])) }
}

interface Page {
  readonly items: { readonly items: { readonly properties: object } }
}

/** A page of users with ids of this kind. */
function withItems({ items: { items } }: Page, id: TSchema): TSchema {
  return pageOf({ ...items, properties: { ...items.properties, id } })
}

function described(endpoint: Endpoint, id: TSchema): Endpoint {
  const replies = Object.entries(endpoint.replies).map(([status, reply]) => {
    const { title, properties = {} } = (reply.body ?? {}) as { title?: string; properties?: object } // safe: JSON Schema
    if (title === 'UserPage') return [status, { ...reply, body: withItems(properties as Page, id) }] as const // safe: as `pageOf`
    const isUser = title !== undefined && titles.includes(title)
    return [status, isUser ? { ...reply, body: { ...reply.body, properties: { ...properties, id } } } : reply] as const
  })
  return { ...endpoint, parameters: { ...endpoint.parameters, user_id: id }, replies: Object.fromEntries(replies) }
}
