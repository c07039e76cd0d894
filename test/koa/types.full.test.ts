import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { emitDeclarations, entries } from '../../scripts/declarations.mjs'
import { compile } from '../support/project/compiler.ts'
import { projectRoot } from '../support/project/readme-blocks.ts'

/** As an app sees it, which has only the declarations. */
const entry = entries.get('./koa')?.replace(/\.d\.ts$/, '.js')

const top = `import Router from '@koa/router'
import Koa from 'koa'
import type { KoaAccounts, SignedIn } from '${entry}'
declare const accounts: KoaAccounts
interface MyState { requestedAt: Date }
`

const compilerOptions = {
  strict: true,
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023', 'es2024.string'],
  types: ['node'],
  noEmit: true,
  skipLibCheck: true,
}

/** Apps that compile, and apps that must not. */
const apps = {
  'good.ts': `${top}
new Router().get('/a', accounts.requireUser(), (ctx) => { const email: string = ctx.state.user.email; ctx.body = email })
new Router<MyState>().get('/b', accounts.requireVerified(), (ctx) => {
  const isVerified: boolean = ctx.state.user.isVerified
  ctx.body = [isVerified, ctx.state.requestedAt.getTime(), ctx.state.tenant.length]
})
const all = new Router<SignedIn>().get('/c', (ctx) => { ctx.body = ctx.state.user.id })
new Koa().use(accounts.routes()).use(accounts.requireSuperuser()).use((ctx) => { ctx.body = ctx.state.user.email })
new Koa<MyState>().use(accounts.routes()).use(accounts.requireUser())
new Koa().use(accounts.routes()).use(all.routes())
`,
  'wrong.ts': `${top}
new Router().get('/a', accounts.requireUser(), (ctx) => {
  ctx.state.user.passwordHash
  ctx.state.user.emial
  const wrong: number = ctx.state.user.email
  ctx.state.user.isSuperuser = true
  ctx.state.user = null
})
accounts.requireNobody()
`,
}

describe('the types of an app with guards', () => {
  /** Faults found by the compiler, each as `line: code`, by file. */
  const faults = new Map<string, string[]>()

  before(async () => {
    emitDeclarations()
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-types-'))
    try {
      await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'))
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
      for (const [name, text] of Object.entries(apps)) await writeFile(join(folder, name), text)
      const files = Object.keys(apps)
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
      const output = await compile('tsconfig.json', folder)
      for (const [, file = '', line, code] of output.matchAll(/^(.*)\((\d+),\d+\): error (TS\d+)/gm)) {
        faults.set(file, [...(faults.get(file) ?? []), `${line}: ${code}`])
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('include the user behind a guard, with or without a state type of the app', () => {
    expect([...faults.keys()]).to.deep.equal(['wrong.ts'])
  })

  it('refuse unknown and secret fields of a user, and writes', () => {
    const expected = ['8: TS2339', '9: TS2551', '10: TS2322', '11: TS2540', '12: TS2540', '14: TS2339']
    expect(faults.get('wrong.ts')).to.deep.equal(expected)
  })
})
