import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { PackedProject } from './support/project/packed-project.ts'
import { blocksOf, patternOf, projectFile } from './support/project/readme-blocks.ts'

interface Snippet {
  readonly file: string
  readonly text: string
  /** Its output, as the page shows it; `null` when the page does not. */
  readonly prints: string | null
}

/** The blocks of a document that are marked `ts run`, each with the block of text after it. */
function snippetsOf(document: string): Snippet[] {
  const blocks = blocksOf(projectFile(document))
  return blocks.flatMap(({ language, marks, text }, at) => {
    if (language !== 'ts' || !marks.includes('run')) return []
    const next = blocks[at + 1]
    const prints = next?.language === 'text' ? next.text : null
    return [{ file: `${document.replace(/\W+/g, '-')}-${at}.ts`, text, prints }]
  })
}

const snippets = ['docs/embedding.md', 'docs/koa.md'].flatMap(snippetsOf)

/** Packages that a program with use cases on SQLite does not need. */
const unwanted = /^(koa|@koa\/.*|koa-.*|mongodb|bson|ioredis|simple-oauth2|joi|openid-client|undici|bcrypt|commander)$/

/** The types refuse each line after the first, and those of the settings what their schema would. An example declares own fields. */
const misuses = `import { type AnyChanges, noFields, openPortcullis, toEmail } from 'portcullis'
toEmail(5)
openPortcullis({ dataFoldre: 'data' })
openPortcullis({ stores: { users: { kind: 'sqlit' } } })
openPortcullis({ tenants: { by: 'host', list: { a: { logs: {} } } } })
openPortcullis({ providers: { google: { kind: 'google', clientId: 'i', clientSecret: 's' } } })
openPortcullis({}, { handlers: { on_after_register: (user) => console.log(user.first_nam) } })
openPortcullis({}, { handlers: { on_after_update: (user, { plan }) => console.log(plan === 'gold') } })
const { fields }: AnyChanges = { fields: { plan: 'gold' } }
console.log(noFields.shown.note, noFields.hidden.note)
`

const twoUseCases = `
  const { newId, openStore, toEmail } = await import('portcullis')
  const { isCommonPassword, passwordHasher, ReadUser, RegisterUser } = await import('portcullis/core')
  const { users, close } = await openStore({ kind: 'sqlite', dataFolder: 'data' })
  const policy = { minLength: 8, isCommon: isCommonPassword }
  const registerUser = new RegisterUser({ users, hasher: passwordHasher(), policy, clock: () => new Date(), newId })
  const { id } = await registerUser.execute({
    email: toEmail('ada@example.com'), password: 'a quite long pass phrase', requestId: 'test',
  })
  console.log((await new ReadUser({ users }).execute(id)).email)
  await close()`

const settingsIn = `
  const { openPortcullis, toEmail } = await import('portcullis')
  const portcullis = await openPortcullis({ dataFolder: 'data', logs: { level: 'warn' } })
  const { email } = await portcullis.accounts.registerUser.execute({
    email: toEmail('ada@example.com'), password: 'a quite long pass phrase', requestId: 'test',
  })
  console.log(email)
  await portcullis.close()`

describe('the package, installed into an empty project', () => {
  let project: PackedProject
  before(async () => {
    project = await PackedProject.create()
  })
  after(() => project?.remove())

  it('contains only files that programs run, import or compile with, and those for monitoring', () => {
    const files = project.files()
    const wanted =
      /^(package\.json|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|LICENSE|bin\/portcullis\.js|deploy\/[\w-]+\.(json|yml)|dist\/[\w.-]+\.js(\.map)?|dist\/messages\/[\w/-]+\.(html|txt)|dist\/swagger-ui\/[\w.-]+|dist\/pages\/[\w-]+\.(js|css)|dist\/api\.md|dist\/types\/.*\.d\.ts|(docs|deploy|examples)\/[\w/.@-]+)$/
    expect(files.filter((file) => !wanted.test(file))).to.deep.equal([])
    expect(files).to.include.members([
      'bin/portcullis.js',
      'dist/portcullis.js',
      'dist/index.js',
      'dist/core.js',
      'dist/testing.js',
      'dist/index.js.map',
      'dist/api.md',
    ])
  })

  it('has code, types and documentation of every exported name', async () => {
    const page = readFileSync(join(project.installed, 'dist/api.md'), 'utf8')
    const { exports } = JSON.parse(readFileSync(join(project.installed, 'package.json'), 'utf8'))
    for (const [path, target] of Object.entries<string | { types: string; default: string }>(exports)) {
      if (typeof target === 'string') continue
      for (const file of Object.values(target)) expect(existsSync(join(project.installed, file)), file).to.equal(true)
      const declarations = readFileSync(join(project.installed, target.types), 'utf8')
      const lists = [...declarations.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, names = '']) => names.split(','))
      const functions = [...declarations.matchAll(/^export declare function (\w+)/gm)].map(([, name = '']) => name)
      const listed = lists.map((name) => name.trim()).filter((name) => name !== '' && !name.startsWith('type '))
      const values = [...listed, ...functions]
      const program = `console.log(JSON.stringify(Object.keys(await import('portcullis${path.slice(1)}'))))`
      project.write('names.js', program)
      expect(JSON.parse(await project.run('names.js'))).to.have.members(values)
      expect(values).to.not.deep.equal([])
      for (const name of values) expect(page).to.match(new RegExp(`^### ${name}$`, 'm'))
    }
  })

  it('compiles the examples of the documents with strict types', async () => {
    expect(snippets).to.have.length.above(4)
    const wrong = { file: 'wrong.ts', text: misuses }
    for (const { file, text } of [...snippets, wrong]) project.write(file, text)
    const faults = await project.compile([...snippets, wrong].map(({ file }) => file))
    expect(faults.match(/^.*error TS\d+/gm), faults).to.deep.equal([
      'wrong.ts(2,9): error TS2345',
      'wrong.ts(3,18): error TS2561',
      'wrong.ts(4,37): error TS2820',
      'wrong.ts(5,54): error TS2353',
      'wrong.ts(7,80): error TS2551',
      'wrong.ts(8,83): error TS2367',
      'wrong.ts(9,44): error TS2322',
      'wrong.ts(10,28): error TS2339',
    ])
  })

  for (const { file, prints } of snippets) {
    it(`runs ${file}, and it prints the output that its page shows`, async () => {
      const printed = await project.run(file.replace(/\.ts$/, '.js'))
      if (prints !== null) expect(printed).to.match(new RegExp(`^${patternOf(prints).source}$`))
    })
  }

  for (const [title, program, wanted, others] of [
    ['two use cases', twoUseCases, ['argon2', 'uuid'], ['inversify', 'typebox', 'ajv', 'pino', 'reflect-metadata']],
    ['settings', settingsIn, ['argon2', '@inversifyjs/core', 'typebox'], []],
  ] as const) {
    it(`loads neither Koa nor another driver for ${title} on SQLite`, async () => {
      const { packages, printed } = await project.packagesLoadedBy(`${title.replace(' ', '-')}.js`, program)
      expect(printed).to.equal('ada@example.com\n')
      expect(packages).to.include.members(['portcullis', 'better-sqlite3', ...wanted])
      expect(packages.filter((name) => unwanted.test(name))).to.deep.equal([])
      for (const other of others) expect(packages).to.not.include(other)
    })
  }

  it('loads no driver for stores in memory, and only the named driver for others', async () => {
    const open = (address: string) => `
      const { openStore } = await import('portcullis')
      await openStore(${address}).then(({ close }) => close(), (error) => console.log(error.name))`
    const memory = await project.packagesLoadedBy('memory.js', open("{ kind: 'memory' }"))
    expect(memory.packages.filter((name) => unwanted.test(name) || name === 'better-sqlite3')).to.deep.equal([])
    const redis = await project.packagesLoadedBy('redis.js', open("{ kind: 'redis', url: 'redis://127.0.0.1:1' }"))
    expect(redis.printed).to.equal('Unavailable\n')
    expect(redis.packages).to.include('ioredis')
  })

  for (const entry of ['portcullis', 'portcullis/core', 'portcullis/koa', 'portcullis/testing']) {
    it(`refuses an older Node, which native modules would crash, before it loads one: ${entry}`, async () => {
      const { printed } = await project.packagesLoadedBy(
        'old-node.js',
        `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })
        process.dlopen = (_, file) => console.log(file)
        await import('${entry}').catch(({ message }) => console.log(message))`,
      )
      expect(printed).to.equal('portcullis needs Node 22 or later; this is 20.20.2\n')
    })
  }

  it('loads the packages of the routes for portcullis/koa', async () => {
    const { packages } = await project.packagesLoadedBy('koa.js', "await import('portcullis/koa')")
    expect(packages.filter((name) => unwanted.test(name)))
      .to.include('@koa/cors')
      .and.not.include('koa')
  })

  it('loads no test runner for portcullis/testing', async () => {
    const { packages } = await project.packagesLoadedBy('testing.js', "await import('portcullis/testing')")
    expect(packages).to.deep.equal(['portcullis'])
  })
})
