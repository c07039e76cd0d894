import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { environmentOf } from '../support/process/commands.ts'
import { compile } from '../support/project/compiler.ts'
import { projectFile, projectRoot } from '../support/project/readme-blocks.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'

const run = promisify(execFile)

interface Recipe {
  /** The file that the block is, or adds to. */
  readonly path: string
  readonly text: string
}

interface Report {
  readonly passes: readonly { readonly fullTitle: string }[]
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message: string } }[]
}

/** The page's blocks of code, indented ones among them, whose first line names a file. */
const recipes: readonly Recipe[] = fenced(projectFile('docs/extending.md'), 'ts').flatMap((block) => {
  const [, path = '', text = ''] = /^\/\/ ((?:src|test)\/\S+)\n([\s\S]*)$/.exec(block) ?? []
  return path === '' ? [] : [{ path, text }]
})

/** The reader adds these as well: the port, and a section of the page of providers. */
const sessions = projectFile('test/docs/file-sessions.ts').replaceAll("'../../src/", "'../../../")
const [section = ''] = fenced(projectFile('docs/extending.md'), 'md')

describe('docs/extending.md', () => {
  const folder = scratchFolder()
  const inFolder = (path: string): string => join(folder, path)
  const isNew = ({ text }: Recipe): boolean => !text.includes('\n  …\n')

  before(() => {
    for (const name of ['src', 'test', 'scripts', 'docs', 'package.json', 'tsconfig.json', 'biome.json']) {
      cpSync(join(projectRoot, name), inFolder(name), { recursive: true })
    }
    for (const name of ['node_modules', 'examples', 'README.md', '.mocharc.json']) {
      symlinkSync(join(projectRoot, name), inFolder(name))
    }
    for (const recipe of recipes) {
      const { path, text } = recipe
      mkdirSync(dirname(inFolder(path)), { recursive: true })
      writeFileSync(inFolder(path), isNew(recipe) ? text : added(text, readFileSync(inFolder(path), 'utf8'), path))
    }
    writeFileSync(inFolder('src/adapters/stores/files/sessions.ts'), sessions)
    const known = projectFile('docs/providers.md')
    if (!known.includes(section)) writeFileSync(inFolder('docs/providers.md'), `${known}\n${section}`)
  })

  it('shows a store, a router, a provider and a transport, each with its registry', () => {
    expect(recipes.filter((recipe) => !isNew(recipe)).map(({ path }) => path)).to.include.members([
      'src/config/plugins/stores.ts',
      'src/adapters/http/routes.ts',
      'src/config/plugins/routers.ts',
      'src/config/plugins/providers.ts',
      'src/config/plugins/transports.ts',
    ])
    expect(recipes.filter(isNew)).to.have.lengthOf.above(6)
  })

  it('shows code that compiles and is formatted', async () => {
    const include = ['src', ...recipes.map(({ path }) => path)]
    writeFileSync(inFolder('tsconfig.page.json'), JSON.stringify({ extends: './tsconfig.json', include }))
    expect(await compile('tsconfig.page.json', folder)).to.equal('')
    await succeeds('@biomejs/biome/bin/biome', ['check', ...recipes.filter(isNew).map(({ path }) => path)])
    await succeeds('@biomejs/biome/bin/biome', ['check', '--write', ...recipes.map(({ path }) => path)])
  })

  it('shows code that passes the suites of the page', async () => {
    const suites = {
      'test/adapters/stores.test.ts': /^the files store /,
      'test/http/greeting.test.ts': /^the greeting router /,
      'test/http/header-transport.test.ts': /^the transport header /,
      'test/adapters/oauth/presets.full.test.ts': /^the preset acme /,
      'test/docs/providers.full.test.ts': /^docs\/providers\.md /,
      'test/architecture.test.ts': /^the architecture /,
    }
    const wanted = Object.values(suites).map(({ source }) => source)
    const report = inFolder('report.json')
    const options = ['--reporter', 'json', '--reporter-option', `output=${report}`, '--grep', wanted.join('|')]
    const fault = await faultOf('mocha/bin/mocha.js', [...options, ...Object.keys(suites)])
    if (!existsSync(report)) throw new Error(fault ?? 'there is no report')
    const { passes, failures } = JSON.parse(readFileSync(report, 'utf8')) as Report // safe: mocha's own
    expect(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`)).to.deep.equal([])
    for (const [suite, titles] of Object.entries(suites)) {
      expect(passes.filter(({ fullTitle }) => titles.test(fullTitle)).length, suite).to.be.above(0)
    }
  })

  /** The fault of a program; `null` if it succeeds. */
  async function faultOf(program: string, args: readonly string[]): Promise<string | null> {
    const words = [join(projectRoot, 'node_modules', program), ...args]
    return await run(process.execPath, words, { cwd: folder, env: environmentOf({}) }).then(
      () => null,
      ({ message, stdout }: { message: string; stdout: string }) => `${message}\n${stdout}`,
    )
  }

  async function succeeds(program: string, args: readonly string[]): Promise<void> {
    const fault = await faultOf(program, args)
    if (fault !== null) throw new Error(fault)
  }
})

/** The fenced blocks of this language, without the indentation of a list. */
function fenced(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^( *)(`{3,})(\w+)\n([\s\S]*?)^\1\2$/gm)].flatMap(
    ([, indent = '', , found, text = '']) =>
      found === language ? [text.replaceAll(new RegExp(`^${indent}`, 'gm'), '')] : [],
  )
}

/**
 * `source` with the additions of `text`: the imports, and the entries of a list or an object. `text` shows the first and the last line of
 * the list, and `…` for its present entries. A reader who tries the page in this checkout has added them already.
 */
function added(text: string, source: string, path: string): string {
  const [, before = '', first = '', entries = '', last = ''] =
    /^([\s\S]*?)^((?:export )?const \w+[^\n]*= [[{])\n {2}…\n([\s\S]*)^([\]}][^\n]*)\n$/m.exec(text) ?? []
  const news = before.split('\n').filter((line) => line !== '')
  const isThere =
    news.length > 0 ? news.every((line) => source.includes(line)) : source.includes(entries.trim().replace(/,$/, ''))
  if (isThere) return source

  const begin = first === '' ? -1 : source.indexOf(first)
  expect(begin, `${path} has the list that the page shows`).to.be.above(0)
  const list = source.slice(begin + first.length)
  const end = list.startsWith('\n') ? list.search(/^[\]}]/m) : list.indexOf(']')
  expect(list.slice(end).split('\n', 1), `the end of the list in ${path}`).to.deep.equal([last])

  const head = source.slice(0, begin)
  const [lastImport] = [...head.matchAll(/^(?:import .*|\}) from '.*'$/gm)].slice(-1)
  const afterImports = lastImport === undefined ? 0 : lastImport.index + lastImport[0].length + 1
  const known = list.slice(0, end).trimEnd().replace(/,$/, '')
  return [
    head.slice(0, afterImports),
    before,
    head.slice(afterImports),
    first,
    known,
    ',\n',
    entries,
    list.slice(end),
  ].join('')
}
