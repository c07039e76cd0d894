import { expect } from 'chai'
import { type Arrow, arrowsBelow, arrowsOf, sourceFiles, sourceFolder } from './support/project/imports.ts'

interface Rule {
  /** The files of the rule; the first rule that matches counts. */
  readonly folder: RegExp
  /** Our own files that they may import. */
  readonly files: readonly RegExp[]
  readonly packages: readonly string[]
}

const domain = /^domain\//
const application = /^application\//
const ports = /^application\/ports\//
const lib = /^lib\//
const everything = /./

/** The imports that each folder may have. A new package is a new entry here, with its reason in docs/architecture.md. */
const rules: readonly Rule[] = [
  { folder: lib, files: [lib], packages: ['node:'] },
  { folder: domain, files: [domain], packages: [] },
  { folder: application, files: [domain, application], packages: [] },
  {
    folder: /^adapters\/http\//,
    files: [lib, domain, application, /^adapters\/http\//],
    packages: [
      'node:',
      'koa',
      '@koa/cors',
      '@koa/router',
      'koa-body',
      'content-disposition-3',
      'ajv',
      'typebox',
      'bowser',
      '@simplewebauthn/browser',
      'pino',
    ],
  },
  store('memory', []),
  ...sqliteSides(),
  store('mongo', ['mongodb']),
  store('postgres', ['pg']),
  store('redis', ['ioredis']),
  {
    folder: /^adapters\/stores\/[^/]+$/,
    files: [lib, domain, ports, /^adapters\/stores\/[^/]+$/],
    packages: ['node:'],
  },
  adapter('addresses', ['tldts']),
  adapter('credentials', ['jsonwebtoken', 'typebox']),
  adapter('crypto', ['argon2', 'bcrypt', 'uuid', '@zxcvbn-ts/language-common']),
  adapter('events', []),
  adapter('factors', ['otpauth', 'uqr']),
  adapter('passkeys', ['@simplewebauthn/server']),
  adapter('fields', ['re2js', 'typebox']),
  adapter('logging', ['pino']),
  adapter('mail', ['nodemailer', 'mustache']),
  { ...adapter('metrics', ['prom-client']), files: [lib, domain, application, /^adapters\/metrics\//] },
  adapter('tenants', []),
  {
    ...adapter('transfer', ['typebox', 'pg', 'better-sqlite3', 'mongodb', 'ioredis']),
    files: [
      lib,
      domain,
      ports,
      /^adapters\/transfer\//,
      /^adapters\/stores\/(store-backend|postgres\/connection\/(address|faults)|sqlite\/faults)\.ts$/,
      /^adapters\/stores\/(mongo\/connection\/(address|outages)|redis\/address)\.ts$/,
    ],
  },
  adapter('oauth', ['simple-oauth2', 'openid-client', 'undici', 'jsonwebtoken', 'typebox']),
  {
    folder: /^config\/composition\/container\.ts$/,
    files: [application, /^config\/composition\/ports\.ts$/],
    packages: ['inversify', 'reflect-metadata'],
  },
  ...layersOfConfig(),
  {
    folder: /^cli\//,
    files: [
      /^config\//,
      /^cli\//,
      /^adapters\/(stores\/(store-backend|present-users)\.ts$|logging\/|addresses\/|crypto\/|transfer\/)/,
      application,
      domain,
      lib,
    ],
    packages: ['node:', 'commander', 'typebox'],
  },
  { folder: /^testing\//, files: [everything], packages: ['node:'] },
  { folder: /^(index|core|koa|program-settings)\.ts$/, files: [everything], packages: [] },
]

function store(name: string, packages: readonly string[]): Rule {
  const own = new RegExp(`^adapters/stores/${name}/`)
  return {
    folder: own,
    files: [lib, domain, ports, own, /^adapters\/stores\/[^/]+$/],
    packages: ['node:', ...packages],
  }
}

/** The event loop starts the thread and never imports its side; both share the files of the folder itself. */
function sqliteSides(): Rule[] {
  const rule = store('sqlite', ['better-sqlite3'])
  const side = (folder: RegExp, own: RegExp): Rule => {
    const others = rule.files.filter((allowed) => allowed !== rule.folder)
    return { ...rule, folder, files: [...others, own] }
  }
  return [
    side(/^adapters\/stores\/sqlite\/write\//, /^adapters\/stores\/sqlite\/((write|migrations)\/)?[^/]+$/),
    side(rule.folder, /^adapters\/stores\/sqlite\/(((read|migrations)\/)?[^/]+|write\/thread\.ts)$/),
  ]
}

/** Each layer imports only those before it. The sources and the rules of settings never import each other. */
function layersOfConfig(): Rule[] {
  const inner = [lib, domain, application, /^adapters\//]
  const [plugins, schema, settings] = [/^config\/plugins\//, /^config\/settings\/schema\//, /^config\/settings\//]
  const below = [...inner, plugins, schema]
  const sides = [/^config\/settings\/sources\//, /^config\/settings\/rules\//].map((side) => ({
    folder: side,
    files: [...below, /^config\/settings\/(?!load)[^/]+$/, side],
  }))
  const layers = [settings, /^config\/tenancy\//, /^config\/composition\//, /^config\/runtime\//]
  return [
    { folder: plugins, files: [...inner, plugins] },
    { folder: schema, files: below },
    ...sides,
    ...layers.map((folder, at) => ({ folder, files: [...below, ...layers.slice(0, at + 1)] })),
  ].map((rule) => ({ ...rule, packages: ['node:', 'typebox', 'pino'] }))
}

function adapter(name: string, packages: readonly string[]): Rule {
  const own = new RegExp(`^adapters/${name}/`)
  return { folder: own, files: [lib, domain, ports, own], packages: ['node:', ...packages] }
}

/** The imports that no rule allows, in words. */
function offences(arrows: readonly Arrow[]): string[] {
  return arrows.flatMap(({ from, to, isPackage }) => {
    const rule = rules.find(({ folder }) => folder.test(from))
    if (rule === undefined) return [`${from} lies in no folder that the table knows`]
    const isAllowed = isPackage ? rule.packages.includes(to) : rule.files.some((allowed) => allowed.test(to))
    return isAllowed ? [] : [`${from} imports ${to}`]
  })
}

describe('the architecture', () => {
  it('has no import that its table does not allow', () => {
    const arrows = arrowsBelow(sourceFolder)
    expect(arrows.length).to.be.greaterThan(200)
    expect(offences(arrows)).to.deep.equal([])
  })

  it('would report an import of the writing side of SQLite by its reading side', () => {
    const arrows = arrowsOf('adapters/stores/sqlite/read/a.ts', "import { b } from '../write/b.ts'")
    const offence = 'adapters/stores/sqlite/read/a.ts imports adapters/stores/sqlite/write/b.ts'
    expect(offences(arrows)).to.deep.equal([offence])
  })

  it('would report an import of a later layer of config', () => {
    const found = [
      arrowsOf('config/plugins/a.ts', "import { b } from '../settings/schema/b.ts'"),
      arrowsOf('config/settings/rules/a.ts', "import { b } from '../sources/b.ts'"),
      arrowsOf('config/tenancy/a.ts', "import type { B } from '../composition/b.ts'"),
      arrowsOf('config/composition/a.ts', "import { b } from '../runtime/b.ts'"),
      arrowsOf('config/runtime/a.ts', "import { b } from '../../cli/b.ts'"),
    ]
    expect(found.map(offences).map(({ length }) => length)).to.deep.equal([1, 1, 1, 1, 1])
    expect(offences(arrowsOf('config/runtime/a.ts', "import { b } from '../composition/b.ts'"))).to.deep.equal([])
  })

  it('reads the environment in config and cli only', () => {
    const readers = sourceFiles().filter(({ text }) => /process\.env\b/.test(text))
    expect(readers.map(({ file }) => file).filter((file) => !/^(config|cli)\//.test(file))).to.deep.equal([])
    expect(readers).to.not.deep.equal([])
  })

  it('issues credentials at two places only, so that no way to log in goes round its checks', () => {
    const access = /[\w.]*[?!]?\.issue\b\(?|\[\s*['"`]issue['"`]|\{(?:[^{}]*,)?\s*issue\s*[,:}]/g
    const found = sourceFiles().flatMap(({ file, text }) =>
      [...text.matchAll(access)].map(([use]) => `${file}: ${use}`),
    )
    expect(found.sort()).to.deep.equal([
      'adapters/http/checked-accounts.ts: credentials?.issue', // looks whether it exists
      'adapters/http/transports/device-cookie.ts: tokens.issue(', // the token of a browser, which logs nobody in
      'application/factors/added-factor.ts: backend.credentials.issue(', // for a login that is there
      'application/sign-in/complete-login.ts: backend.credentials.issue(',
      'application/sign-in/complete-login.ts: needs.deviceTokens.issue(', // proves no user, only a browser
    ])
  })

  it('has no decorators anywhere', () => {
    const texts = sourceFiles().filter(({ text }) => /^\s*@\w+\(/m.test(text))
    expect(texts.map(({ file }) => file)).to.deep.equal([])
  })
})
