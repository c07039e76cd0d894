import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { providers } from '../../src/config/plugins/providers.ts'
import { annotations } from '../../src/config/settings/schema/fields.ts'
import { blocksOf, projectFile, theBlock } from '../support/project/readme-blocks.ts'
import { settingsFolder } from '../support/services/settings.ts'

const page = projectFile('docs/providers.md')

/** The text below each heading. */
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section): [string, string] => [section.slice(0, section.indexOf('\n')), section]),
)

interface Example {
  readonly providers: Readonly<Record<string, { readonly kind: string }>>
}

describe('docs/providers.md', () => {
  const folder = settingsFolder()

  it('has a section for failures and one for each kind of provider', () => {
    expect([...sections.keys()]).to.deep.equal(['When a provider fails', ...providers.map(({ kind }) => kind)])
  })

  for (const { kind, options } of providers) {
    describe(kind, () => {
      const section = sections.get(kind) ?? ''
      const example = (): Example => JSON.parse(blocksOf(section)[0]?.text ?? '{}')

      it('shows settings with which a login succeeds when the secret is added', async () => {
        const [[name = '', { kind: shown }] = ['', { kind: '' }]] = Object.entries(example().providers)
        expect(shown).to.equal(kind)
        const inUse = {
          handlers: { console: false },
          try: { enabled: false },
          security: { profile: 'compatible' },
          pages: { enabled: false },
        }
        const env = { ...secretOf(name, kind), PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1' }
        const { settings, warnings } = await folder.load({ ...inUse, ...example() }, env)
        expect(warnings).to.deep.equal([])
        expect(settings.providers[name]).to.include({ kind, enabled: true, backend: 'cookie' })
      })

      it('has both callback URLs, the scopes, the vouching and the documentation', () => {
        const [name = ''] = Object.keys(example().providers)
        expect(fact(section, 'Callback URLs')).to.include(`\`/auth/${name}/callback\``)
        expect(fact(section, 'Callback URLs')).to.include(`\`/auth/associate/${name}/callback\``)
        const scopes = annotations(options.scopes).default as string[] // safe: the default of a list of scopes
        const listed = scopes.length === 0 ? 'none' : scopes.map((scope) => `\`${scope}\``).join(', ')
        expect(fact(section, 'Scopes').split(';')[0]).to.equal(`: ${listed}`)
        expect(fact(section, 'Vouches')).to.match(/^ (never|where|for)\b/)
        expect(fact(section, 'Documentation')).to.match(/".+"|own/)
      })
    })
  }
})

describe('the other examples of docs/providers.md', () => {
  const folder = settingsFolder()

  for (const [mark, name] of [
    ['line', 'line'],
    ['b2c', 'contoso'],
    ['entra', 'entra'],
  ] as const) {
    it(`needs only the secret: ${mark}`, async () => {
      const file = JSON.parse(theBlock(blocksOf(page), 'json', mark))
      const { warnings } = await folder.load(file, secretOf(name, 'any'))
      expect(warnings).to.deep.equal([])
    })
  }

  it('names claims that are valid', async () => {
    const { claims } = JSON.parse(theBlock(blocksOf(page), 'json', 'claims'))
    const acme = { kind: 'openid-connect', clientId: 'us', issuer: 'https://id.example', backend: 'cookie', claims }
    expect((await folder.load({ providers: { acme } }, secretOf('acme', 'any'))).warnings).to.deep.equal([])
  })
})

describe('the Google example of docs/settings.md', () => {
  const folder = settingsFolder()

  it('needs only the account pages', async () => {
    const text = theBlock(blocksOf(projectFile('docs/settings.md')), 'json', 'google')
    const { settings, warnings } = await folder.load(JSON.parse(text), secretOf('google', 'google'))
    expect(warnings).to.deep.equal([])
    expect(settings.pages.enabled).to.equal(true)
    expect(settings.providers.google).to.include({ enabled: true, backend: 'cookie' })
  })
})

/** The text after a bold word. */
function fact(section: string, word: string): string {
  const [, found = ''] = section.split(`\n- **${word}**`)
  return (found.split(/\n- |\n\n|\n$/)[0] ?? '').replaceAll(/\s+/g, ' ')
}

function secretOf(name: string, kind: string): Record<string, string> {
  const prefix = `PORTCULLIS_PROVIDERS__${name.toUpperCase()}__`
  if (kind !== 'apple') return { [`${prefix}CLIENT_SECRET`]: 'a secret' }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { [`${prefix}PRIVATE_KEY`]: String(privateKey.export({ format: 'pem', type: 'pkcs8' })) }
}
