// The files that a service loads, by the source maps of the built ones.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { projectRoot } from '../support/project/readme-blocks.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

const preload = join(projectRoot, 'test', 'support', 'process', 'loaded-modules.mjs')

describe('the code of a service', () => {
  /** The source files that are loaded, below `src`, or in `node_modules`. */
  async function loadedWith(settings: object, below = 'src'): Promise<ReadonlySet<string>> {
    const cwd = scratchFolder()
    const list = join(cwd, 'loaded')
    await writeFile(list, '')
    await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
    const service = await spawnService({ LOADED_MODULES: list, NODE_OPTIONS: `--import ${preload}` }, cwd)
    for (const path of ['/openapi.json', '/.well-known/oauth-authorization-server', '/account/sign-in'])
      await fetch(service.url + path)
    expect(await service.end('SIGTERM')).to.equal(0)
    const paths = (await readFile(list, 'utf8')).matchAll(new RegExp(`/${below}/(\\S+)$`, 'gm'))
    return new Set([...paths].map(([, path = '']) => path))
  }
  const ofApps = [
    'config/composition/apps.ts',
    'adapters/http/apps/apps-router.ts',
    'adapters/http/apps/authorization-request.ts',
    'application/apps/redeem-code.ts',
  ]

  it('has nothing of the sign-in for apps without an app', async () => {
    const without = await loadedWith({})
    expect(without).to.include('config/composition/http.ts')
    expect([...without].filter((path) => ofApps.includes(path))).to.deep.equal([])
    const web = { redirectUris: ['https://web.example/cb'], backend: 'jwt' }
    expect([...(await loadedWith({ apps: { web } }))]).to.include.members(ofApps)
  })

  it('has nothing that verifies passkeys before the first one, also where users may have them', async () => {
    const loaded = await loadedWith({ routers: { factors: { enabled: true } } }, 'node_modules')
    expect([...loaded].some((path) => path.startsWith('koa/'))).to.equal(true)
    expect([...loaded].filter((path) => /^(@simplewebauthn|@peculiar|otpauth|uqr)\b/.test(path))).to.deep.equal([])
  })
})
