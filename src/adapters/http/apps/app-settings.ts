import Type from 'typebox'
import { isRedirectUri, originsOf } from './redirect-uris.ts'

const app = Type.Object({
  enabled: Type.Boolean({ default: true, description: '`false` removes the app.' }),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      expects: 'a name of at most 80 characters',
      otherwise: 'the `client_id`',
      description: 'Name of the app for people, such as in "Continue to Acme".',
    }),
  ),
  redirectUris: Type.Array(
    Type.Refine(
      Type.String({
        expects:
          'https, http on 127.0.0.1, [::1] or localhost, or the scheme of an app (com.example.app:/callback); whole, without * and #',
      }),
      isRedirectUri,
    ),
    {
      minItems: 1,
      description:
        'Addresses to which the sign-in leads back with a code. They are compared exactly, except the port of `http://127.0.0.1` and `http://[::1]`.',
    },
  ),
  backend: Type.String({
    minLength: 1,
    expects: 'the name of a backend',
    description: 'Backend with the transport `bearer`, whose credential the app gets for a code.',
  }),
})

/** The settings of the apps by their `client_id`. */
export const appsSchema = Type.Record(Type.String({ pattern: '^[a-z][a-z0-9-]{0,63}$' }), app, {
  expects: 'lower-case letters, digits and -, a letter first, at most 64',
  default: {},
})

interface AppSettings {
  readonly enabled: boolean
  readonly redirectUris: readonly string[]
  readonly backend: string
}

interface Judged {
  readonly apps: Readonly<Record<string, AppSettings>>
  readonly backends: Readonly<
    Record<string, { readonly enabled: boolean; readonly transport: { readonly kind: string } }>
  >
  readonly pages: { readonly enabled: boolean }
}

/** The faults of apps, each with its path and the settings that may be their cause. */
export function* objectionsToApps({ apps, backends, pages }: Judged) {
  const enabled = Object.entries(apps).filter(([, one]) => one.enabled)
  for (const [name, { backend }] of enabled) {
    const path = `apps.${name}`
    // The claim `client_id` of a JWT names either of them.
    if (Object.hasOwn(backends, name)) yield [path, 'is the name of a backend as well', [`backends.${name}`]] as const
    const found = Object.entries(backends).find(([one, own]) => one === backend && own.enabled)?.[1]
    if (found?.transport.kind !== 'bearer') {
      yield [
        `${path}.backend`,
        'must be the name of an enabled backend with the transport bearer',
        ['backends'],
      ] as const
    }
    if (!pages.enabled) yield [path, 'needs the account pages: set pages.enabled', ['pages.enabled']] as const
  }
}

/** The origins of the pages of apps. They may read every answer, but never with a cookie. */
export function originsOfApps({ apps }: Pick<Judged, 'apps'>): string[] {
  return Object.values(apps).flatMap(({ enabled, redirectUris }) => (enabled ? originsOf(redirectUris) : []))
}
