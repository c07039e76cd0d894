import Type from 'typebox'
import type { StoreRole } from '../../../adapters/stores/store-backend.ts'
import { stores } from '../../plugins/stores.ts'

export function storeSchema(role: StoreRole) {
  const kinds = stores.filter(({ roles }) => roles.includes(role)).map(({ kind }) => kind)
  const kind = Type.Enum(kinds, {
    ...(role === 'users' ? { default: 'sqlite' } : { otherwise: 'as users' }),
    description: `Where ${role === 'tokens' ? 'one-time tokens' : role} are kept.`,
  })
  return Type.Object({
    kind: role === 'users' ? kind : Type.Optional(kind),
    url: Type.Optional(
      Type.String({
        secret: true,
        expects: 'an address such as mongodb://host/name or redis://host',
        otherwise: role === 'users' ? 'none' : "the users' one where the kind is the same",
        description: 'Address of a store that is a server of its own.',
      }),
    ),
    ...(stores.some((one) => one.takesPrefix && one.roles.includes(role)) && { prefix: keyPrefix }),
  })
}

const keyPrefix = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z0-9._:-]{1,64}$',
    expects: 'letters, digits, . _ : and -, at most 64',
    otherwise: '`portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address',
    description: '(redis) What every key begins with: deployments that share a server need one each.',
  }),
)
