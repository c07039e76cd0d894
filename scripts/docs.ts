// npm run docs: generates documents from the code. A test fails if they are outdated.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLog } from '../src/adapters/logging/log.ts'
import { startService } from '../src/config/runtime/service.ts'
import { loadSettings } from '../src/config/settings/load.ts'
import { configurationPage } from './configuration-page.ts'
import { anyProvider, errorsPage, type Operations } from './errors-page.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The generators by path. */
export const generated = new Map<string, () => string | Promise<string>>([
  ['docs/openapi.json', async () => `${JSON.stringify(await servedDocument({}), null, 2)}\n`],
  [
    'docs/errors.md',
    async () =>
      errorsPage(
        await servedDocument({
          providers: { [anyProvider]: provider },
          apps: { app: { redirectUris: ['https://app.example/'], backend: 'jwt' } },
          routers: { factors: { enabled: true } },
          users: { selfDeletion: true, selfExport: true, fields: { username: { type: 'string', unique: true } } },
        }),
      ),
  ],
  ['docs/configuration.md', configurationPage],
])

/** All kinds have the same routes, but Apple also posts its callback. */
const provider = {
  kind: 'oauth2',
  clientId: 'portcullis',
  clientSecret: 'unused',
  authorizeUrl: 'https://provider.example/authorize',
  tokenUrl: 'https://provider.example/token',
  profileUrl: 'https://provider.example/me',
  backend: 'cookie',
  redirects: {
    success: 'http://localhost:3000/',
    linked: 'http://localhost:3000/',
    failure: 'http://localhost:3000/',
  },
}

/** The document /openapi.json of a service with only these settings. */
async function servedDocument(file: unknown): Promise<Operations> {
  const scratch = await mkdtemp(join(tmpdir(), 'portcullis-docs-'))
  const env = {
    PORTCULLIS_HTTP__PORT: '0',
    PORTCULLIS_STORES__USERS__KIND: 'memory',
    PORTCULLIS_DATA_FOLDER: join(scratch, 'data'),
    PORTCULLIS_LOGS__LEVEL: 'silent',
  }
  await writeFile(join(scratch, 'portcullis.config.json'), JSON.stringify(file))
  const { settings, tenants } = await loadSettings({ cwd: scratch, env })
  const service = await startService({
    settings,
    tenants,
    log: createLog(settings.logs),
    write: () => undefined,
    failed: (fault) => {
      throw fault
    },
  })
  try {
    const response = await fetch(`http://127.0.0.1:${service.port}/openapi.json`)
    return (await response.json()) as Operations // safe: the route serves an OpenAPI document
  } finally {
    await service.stop()
    await rm(scratch, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, make] of generated) await writeFile(join(root, name), await make())
}
