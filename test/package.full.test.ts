import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { expect } from 'chai'
import { publint } from 'publint'
import { environmentOf, startCommand } from './support/process/commands.ts'
import { PackedProject } from './support/project/packed-project.ts'
import { projectFile, withoutCode } from './support/project/readme-blocks.ts'
import { listen } from './support/servers/ports.ts'

/** Uses each entry of the package. */
const body = `
export async function main(): Promise<void> {
  const portcullis = await openPortcullis({ stores: { users: { kind: 'memory' } }, logs: { level: 'warn' } })
  const { registerUser } = portcullis.accounts
  const user = await registerUser.execute({
    email: toEmail('ada@example.com'),
    password: 'a quite long pass phrase',
    requestId: fixedClock()().toISOString(),
  })
  console.log(user.email, typeof koaAccounts, typeof RegisterUser)
  await portcullis.close()
}
void main()
`
const entries = {
  portcullis: 'openPortcullis, toEmail',
  'portcullis/core': 'RegisterUser',
  'portcullis/koa': 'koaAccounts',
  'portcullis/testing': 'fixedClock',
}
const statements = (of: (name: string, names: string) => string) =>
  `${Object.entries(entries)
    .map(([name, names]) => of(name, names))
    .join('\n')}\n`

const program = statements((name, names) => `import { ${names} } from '${name}'`) + body
const dynamic = body.replace('{\n', `{\n${statements((name, names) => `const { ${names} } = await import('${name}')`)}`)

/** The relative links of a page outside its code, without their anchors. */
function linksIn(text: string): string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)].map(([, link = '']) => link)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

describe('the tarball', () => {
  let project: PackedProject
  before(async () => {
    project = await PackedProject.create()
  })
  after(() => project?.remove())

  it('has pages whose links lead to files of the package', () => {
    const links = project
      .files()
      .filter((file) => file.endsWith('.md'))
      .flatMap((page) => linksIn(readFileSync(join(project.installed, page), 'utf8')).map((link) => ({ page, link })))
    const pages = new Set(links.map(({ page }) => page))
    expect([...pages]).to.include.members(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md', 'docs/extending.md'])
    const isBroken = ({ page, link }: { page: string; link: string }) =>
      !existsSync(join(project.installed, dirname(page), link))
    expect(links.filter(isBroken)).to.deep.equal([])
  })

  it('installs no package that reports installations, and no scripts but those of argon2 and bcrypt', () => {
    // Safe: the project's own lock file.
    const { packages } = JSON.parse(projectFile('package-lock.json')) as {
      packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>
    }
    const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
    expect(installed.length).to.be.greaterThan(50)
    const withScript = installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)
    expect(withScript).to.have.members(['node_modules/argon2', 'node_modules/bcrypt'])
  })

  it('serves /docs by files of its own, with the licence of Swagger UI beside them', async () => {
    const env = environmentOf({ PORTCULLIS_STORES__USERS__KIND: 'memory', PORTCULLIS_HTTP__PORT: '0' })
    const words = [process.execPath, join(project.installed, 'bin', 'portcullis.js'), 'serve']
    const service = startCommand(words, project.folder, env)
    try {
      const [, port] = await service.says(/"port":(\d+),"msg":"listening"/)
      const page = await (await fetch(`http://localhost:${port}/docs`)).text()
      const linked = [...page.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path = '']) => path)
      expect(linked).to.include.members(['docs/swagger-ui-bundle.js', 'docs/swagger-ui.css'])
      for (const path of linked) {
        const { status, headers } = await fetch(`http://localhost:${port}/${path}`)
        expect([status, headers.get('content-length') === '0'], path).to.deep.equal([200, false])
      }
    } finally {
      service.kill('SIGTERM')
      await service.ended
    }
    const licences = ['LICENSE', 'NOTICE', 'swagger-ui-bundle.js.LICENSE.txt']
    expect(project.files()).to.include.members(licences.map((file) => `dist/swagger-ui/${file}`))
  })

  it('passes publint', async () => {
    const { messages } = await publint({ pkgDir: project.installed, pack: false, strict: true })
    expect(messages).to.deep.equal([])
  })

  it('has types that ES modules resolve, and that CommonJS files resolve to the ES modules', async () => {
    const tarball = createPackageFromTarballData(readFileSync(project.tarball))
    const { types, problems } = { problems: [], ...(await checkPackage(tarball)) }
    expect(types).to.not.equal(false)
    // `moduleResolution: node` knows no `exports`.
    const found = problems.filter((one) => !('resolutionKind' in one && one.resolutionKind === 'node10'))
    expect(new Set(found.map(({ kind }) => kind))).to.deep.equal(new Set(['CJSResolvesToESM']))
  })

  for (const [module, files, options, faults] of [
    ['nodenext', { 'nodenext.ts': program, 'static.cts': program }, {}, []],
    ['node16', { 'node16.ts': program, 'dynamic.cts': dynamic }, {}, []],
    ['esnext', { 'bundler.ts': program }, { moduleResolution: 'bundler' }, []],
    ['node16', { 'wrong.cts': program }, {}, Object.keys(entries).map((_, at) => `wrong.cts(${at + 1}`)],
  ] as const) {
    const names = Object.keys(files)
    const title = faults.length > 0 ? 'does not compile' : 'compiles and runs'
    it(`${title} with ${module} in ${names.join(' and ')}`, async () => {
      for (const [name, text] of Object.entries(files)) project.write(name, text)
      const printed = await project.compile(names, { module, ...options })
      expect(printed.match(/^[^,\s]+(?=,\d+\): error)/gm) ?? [], printed).to.deep.equal(faults)
      if (faults.length > 0) expect(printed).to.include('TS1479') // as docs/embedding.md says
      for (const name of faults.length > 0 ? [] : names) {
        expect(await project.run(name.replace(/ts$/, 'js'))).to.equal('ada@example.com function function\n')
      }
    })
  }

  it('runs in CommonJS files without TypeScript', async () => {
    const javaScript = body.replace(/export |: Promise<void>/g, '')
    project.write('require.cjs', statements((name, names) => `const { ${names} } = require('${name}')`) + javaScript)
    expect(await project.run('require.cjs')).to.equal('ada@example.com function function\n')
  })

  it('is refused by npm publish until somebody decides otherwise', async () => {
    const written: string[] = []
    const registry = createServer((request, response) => {
      if (request.method === 'PUT') written.push(request.url ?? '')
      response.writeHead(request.method === 'PUT' ? 201 : 404).end('{}')
    })
    const port = await listen(registry)
    const publish = (...more: string[]) => {
      const address = `127.0.0.1:${port}`
      const words = [
        'publish',
        project.tarball,
        `--registry=http://${address}/`,
        `--//${address}/:_authToken=x`,
        ...more,
      ]
      const env = environmentOf({ npm_config_cache: join(project.folder, '.npm') })
      return promisify(execFile)('npm', words, { cwd: project.folder, env }).catch(({ stderr }) => stderr)
    }
    try {
      expect(await publish()).to.match(/EUNSCOPED|unscoped/)
      expect(written).to.deep.equal([])
      await publish('--access=public')
      expect(written).to.deep.equal(['/portcullis'])
    } finally {
      registry.close()
      registry.closeAllConnections()
    }
  })
})
