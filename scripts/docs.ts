// npm run docs: writes the pages below docs/ that follow from the code. A test fails while they are not current.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configurationPage } from '../src/config/describe-settings.ts'
import { loadSettings } from '../src/config/load.ts'
import { createLog } from '../src/config/log.ts'
import { startService } from '../src/config/service.ts'
import { apiPage } from './api-page.ts'
import { emitDeclarations, entries } from './declarations.mjs'
import { errorsPage, type Operations } from './errors-page.ts'

const folder = fileURLToPath(new URL('../docs/', import.meta.url))

/** Every generated page, by its name below docs/. */
export async function pages(): Promise<ReadonlyMap<string, string>> {
  const document = await servedDocument()
  return new Map([
    ['openapi.json', `${JSON.stringify(document, null, 2)}\n`],
    ['errors.md', errorsPage(document)],
    ['configuration.md', configurationPage()],
    ['api.md', publicApi()],
  ])
}

function publicApi(): string {
  emitDeclarations()
  return apiPage(entries)
}

/** What a service without any configuration serves as /openapi.json. */
async function servedDocument(): Promise<Operations> {
  const scratch = await mkdtemp(join(tmpdir(), 'portcullis-docs-'))
  const env = {
    PORTCULLIS_HTTP__PORT: '0',
    PORTCULLIS_STORES__USERS__KIND: 'memory',
    PORTCULLIS_DATA_FOLDER: join(scratch, 'data'),
    PORTCULLIS_LOGS__LEVEL: 'silent',
  }
  const { settings } = await loadSettings({ cwd: scratch, env })
  const service = await startService({
    settings,
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
  for (const [name, text] of await pages()) await writeFile(join(folder, name), text)
}
