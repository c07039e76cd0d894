import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { generated } from '../scripts/docs.ts'
import { anyProvider } from '../scripts/errors-page.ts'
import { handlerNames } from '../src/adapters/events/handlers.ts'
import { statusOf } from '../src/adapters/http/errors.ts'
import { storeRoles } from '../src/adapters/stores/store-backend.ts'
import { settingsSchema } from '../src/config/settings/schema/schema.ts'
import { leavesOf } from '../src/config/settings/schema/tree.ts'
import { variableOf } from '../src/config/settings/sources/environment.ts'
import { sourceFiles } from './support/project/imports.ts'
import { blocksOf, projectFile, projectRoot, theBlock, withoutCode } from './support/project/readme-blocks.ts'
import { goodSecret, settingsFolder } from './support/services/settings.ts'

const documents = [...readdirSync(projectRoot), ...readdirSync(join(projectRoot, 'docs')).map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: projectFile(name) }))

const settingsPage = projectFile('docs/settings.md')
const handlersPage = projectFile('docs/handlers.md')

/** The rows of the table whose header begins with these words, each as the code in its cells. */
function rowsOf(text: string, header: string): string[][][] {
  const rows = text.slice(text.indexOf(header)).split('\n').slice(2)
  const end = rows.findIndex((row) => !row.startsWith('|'))
  return rows.slice(0, end).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)),
  )
}

/** As GitHub makes the anchor of a heading. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

describe('the documents', () => {
  it('link to existing files and headings', () => {
    for (const { name, text } of documents) {
      for (const [, target = ''] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^https?:/.test(target)) continue
        const [file = '', anchor] = target.split('#')
        const path = file === '' ? name : join(dirname(name), file)
        expect(existsSync(join(projectRoot, path)), `${name}: ${target}`).to.equal(true)
        if (anchor !== undefined) expect(anchorsOf(projectFile(path)), `${name}: ${target}`).to.include(anchor)
      }
    }
  })

  it('quote the examples as they are', () => {
    const quotes = documents.flatMap(({ name, text }) =>
      blocksOf(text).flatMap(({ marks: [path = ''], text }) =>
        path.startsWith('examples/') ? [{ name, path, text }] : [],
      ),
    )
    expect(quotes).to.have.length.above(4)
    for (const { name, path, text } of quotes) expect(projectFile(path), name).to.include(text)
  })

  it('name existing source files', () => {
    const paths = documents.flatMap(({ name, text }) => {
      const prose = text.replace(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, '')
      return [...prose.matchAll(/`((?:[a-z-]+\/)+[a-z0-9-]+(?:\.[a-z]+)*\.ts)`/g)].map(([, path = '']) => ({
        name,
        path,
      }))
    })
    const written = 'src/adapters/stores/files/sessions.ts' // by the reader of extending.md
    const isThere = (path: string) => ['', 'src'].some((folder) => existsSync(join(projectRoot, folder, path)))
    expect(paths).to.have.length.above(60)
    expect(paths.filter(({ path }) => path !== written && !isThere(path))).to.deep.equal([])
  })

  it('change data by commands only, because the image and the package have no other program for that', () => {
    const forOperators = documents.filter(({ name }) => name !== 'CONTRIBUTING.md')
    const found = forOperators.filter(({ text }) =>
      /\bscripts\/|DELETE FROM|SELECT |deleteMany|better-sqlite3'\)/.test(text),
    )
    expect(found.map(({ name }) => name)).to.deep.equal([])
  })

  it('run the executable of the clone, never a package of that name from a registry', () => {
    for (const { name, text } of documents) expect(text, name).not.to.match(/npx (?!--no-install )(\S+ )*portcullis/)
  })

  it('list exactly the lines that the service logs', () => {
    const sources = sourceFiles()
      .map(({ text }) => text)
      .join('\n')
    const messages = rowsOf(projectFile('docs/logs.md'), '| `msg` |').flatMap(([named = []]) => named)
    for (const message of messages) expect(sources).to.include(`'${message}'`)
    const logged = [...sources.matchAll(/\blog\.(?:info|warn|error|fatal)\((?:[^'()]|\([^()]*\))*'([^']+)',?\s*\)/g)]
    expect(logged).to.have.length.above(20)
    for (const [, message] of logged) expect(messages).to.include(message)
  })
})

describe('docs/errors.md', () => {
  const page = projectFile('docs/errors.md')

  it('has every refusal, also those of providers', () => {
    for (const [code, { status, detail }] of Object.entries(statusOf)) {
      const shown = typeof detail === 'object' && 'text' in detail ? detail.text : code
      expect(page).to.match(new RegExp(`^\\| ${status} \\| \`${shown}\``, 'm'))
    }
  })

  it('has the members of each detail that is an object', () => {
    expect(page).to.include('| `LOGIN_SECOND_FACTOR_REQUIRED` with `challenge` and `methods` |')
    expect(page).to.include('| `REGISTER_FIELD_ALREADY_EXISTS` with `reason` |')
    expect(page).to.include('| `REGISTER_INVALID_PASSWORD` with `reason` and `rule` |')
  })

  it('has the routes of a provider and their queries', () => {
    const rows = rowsOf(page, '| Route | Purpose | Query |').map(([route = [], , query]) => [route[0], query])
    expect(rows).to.deep.include.members([
      ['GET /auth/<provider>/authorize', ['scopes', 'return_to']],
      ['DELETE /auth/associate/<provider>/{id}', []],
    ])
    expect(page).to.not.include(anyProvider)
  })
})

describe('the pages of settings, handlers and tenants', () => {
  const folder = settingsFolder()

  it('name existing settings and variables', () => {
    const leaves = leavesOf(settingsSchema)
    const paths = new Set(leaves.map(({ path }) => path.join('.')))
    const variables = new Set(leaves.map(({ path }) => variableOf(path)))
    const rows = rowsOf(settingsPage, '| Setting | Environment |')
    expect(rows).to.have.length.above(10)
    for (const [settings = [], environment = []] of rows) {
      for (const setting of settings) {
        expect(paths).to.include(setting.replace('<role>', 'users').replace('<name>', '*'))
      }
      for (const variable of environment) {
        expect(variables).to.include(variable.replace('__JWT__', '__<NAME>__').replace(/_FILE$/, ''))
      }
    }
  })

  it('show files of settings that only lack the secrets', async () => {
    const env = {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__URL: 'mongodb://127.0.0.1/portcullis',
      PORTCULLIS_STORES__SESSIONS__URL: 'redis://127.0.0.1',
      PORTCULLIS_STORES__TOKENS__URL: 'redis://127.0.0.1',
    }
    const { settings } = await folder.load(JSON.parse(theBlock(blocksOf(settingsPage), 'json', 'stores')), env)
    expect(storeRoles.map((role) => settings.stores[role].kind)).to.deep.equal(['mongo', 'redis', 'redis'])
  })

  it('show valid settings of a move from fastapi-users', async () => {
    const file = JSON.parse(theBlock(blocksOf(projectFile('docs/moving-from-fastapi-users.md')), 'json', 'moving'))
    const { settings } = await folder.load(file, {
      PORTCULLIS_SECRET: goodSecret,
      PORTCULLIS_STORES__USERS__URL: 'postgres://127.0.0.1/app',
    })
    expect([settings.ids, settings.compat.nullBodies]).to.deep.equal(['uuid', true])
  })

  for (const mark of ['tenants', 'hosts']) {
    it(`show valid settings of tenants: ${mark}`, async () => {
      const file = JSON.parse(theBlock(blocksOf(projectFile('docs/tenants.md')), 'json', mark))
      const { tenants } = await folder.load(file, { PORTCULLIS_SECRET: goodSecret })
      expect([...(tenants?.enabled.keys() ?? [])]).to.have.members(['acme', 'bolt'])
    })
  }

  it('show a module of handlers that loads, and name every handler', async () => {
    const path = await folder.write('handlers.mjs', theBlock(blocksOf(handlersPage), 'js', 'handlers'))
    const module: Record<string, unknown> = await import(pathToFileURL(path).href)
    expect(Object.keys(module)).to.have.length.above(2)
    expect(handlerNames).to.include.members(Object.keys(module))
    for (const name of handlerNames) expect(handlersPage).to.include(name)
  })
})

describe('the generated files', () => {
  it('are current; `npm run docs` writes them', async () => {
    for (const [name, make] of generated) {
      expect(projectFile(name) === (await make()), `${name} is current`).to.equal(true)
    }
    expect([...generated.keys()]).to.include.members(['docs/openapi.json', 'docs/errors.md'])
  })
})
