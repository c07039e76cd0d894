import Type from 'typebox'
import type { StoreRole } from '../../../adapters/stores/store-backend.ts'
import { stores } from '../../plugins/stores.ts'

export function storeSchema(role: StoreRole) {
  const kinds = stores.filter(({ roles }) => roles.includes(role)).map(({ kind }) => kind)
  const kind = Type.Enum(kinds, {
    ...(role === 'users' ? { default: 'sqlite' } : { otherwise: 'the kind of the users' }),
    description: `Store of the ${role === 'tokens' ? 'one-time tokens' : role}.`,
  })
  return Type.Object({
    kind: role === 'users' ? kind : Type.Optional(kind),
    url: Type.Optional(
      Type.String({
        secret: true,
        expects: 'an address such as mongodb://host/name or redis://host',
        otherwise: role === 'users' ? 'none' : 'the address of the users, if the kind is the same',
        description: 'Address of the server, for MongoDB and Redis.',
      }),
    ),
    ...(role === 'users' && { cacheMegabytes }),
    ...(stores.some((one) => one.takesPrefix && one.roles.includes(role)) && { prefix: keyPrefix }),
  })
}

const cacheMegabytes = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 65_536,
    otherwise: '256; half a megabyte for each of several tenants',
    description:
      '(sqlite) Limit of the memory in which a process keeps parts of the file. The process takes it as it reads the file.',
  }),
)

const keyPrefix = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9._:-]{1,64}$',
    expects: 'letters, digits, . _ : and -, at most 64',
    otherwise: '`portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address',
    description: '(redis) Prefix of every key. Deployments that share a Redis server need different prefixes.',
  }),
)
