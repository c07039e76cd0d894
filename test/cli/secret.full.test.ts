import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { derivedKeys } from '../../src/adapters/crypto/derived-keys.ts'
import { providerVault } from '../../src/adapters/crypto/provider-vault.ts'
import { openOperator } from '../../src/cli/operator.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import { anAccount, aUser } from '../../src/testing/builders.ts'
import { portcullis } from '../support/process/command-line.ts'
import { needsDeployment, onMongo, onPostgres } from '../support/services/deployments.ts'
import { goodSecret } from '../support/services/settings.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import { dropDatabase } from '../support/stores/mongo.ts'

const tenants = ['acme', 'bolt'] as const
const next = `next ${goodSecret}`
const vaultOf = (secret: string, tenant: string) => providerVault(derivedKeys(secret, tenant).providerTokenKey)

/** Tenants that inherit their stores, and sign with pairs of keys. */
const settings = {
  http: { publicUrl: 'http://localhost:3000' },
  backends: { jwt: { strategy: { algorithm: 'EdDSA' } } },
  tenants: { by: 'path', list: Object.fromEntries(tenants.map((id) => [id, {}])) },
}

for (const deployment of [onPostgres, onMongo]) {
  describe(`portcullis secret rotate with tenants in ${deployment.name}`, () => {
    const cwd = scratchFolder()
    let env: Readonly<Record<string, string>>
    before(async function () {
      await needsDeployment(this, deployment)
      await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
      env = await deployment.settings()
    })
    after(async () => {
      if (env === undefined) return
      if (deployment === onMongo) await inTenants({ PORTCULLIS_SECRET: next }, ({ url }) => dropDatabase(url))
      await deployment.remove(env)
    })

    type Tenant = {
      readonly id: string
      readonly url: string
      readonly operator: Awaited<ReturnType<typeof openOperator>>
    }
    async function inTenants<T>(
      secrets: Readonly<Record<string, string>>,
      work: (tenant: Tenant) => Promise<T>,
    ): Promise<T[]> {
      const loaded = await loadSettings({ cwd, env: { ...env, ...secrets } })
      const results: T[] = []
      for (const [id, tenant] of loaded.tenants.enabled) {
        const operator = await openOperator(tenant)
        const url = String(tenant.settings.stores.users.url)
        results.push(await work({ id, url, operator }).finally(() => operator.close()))
      }
      return results
    }
    const run = async (secrets: Readonly<Record<string, string>>, ...args: string[]) => {
      const { code, out } = await portcullis([...args, '--json'], { cwd, env: { ...env, ...secrets } })
      return {
        code,
        lines: out
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
      }
    }

    it('moves each tenant to the new secret, and storage check says when the former one may go', async () => {
      const kids = await inTenants({ PORTCULLIS_SECRET: goodSecret }, async ({ id, operator }) => {
        for (let count = 0; count < 3; count++) {
          const user = aUser()
          const sealedAccessToken = vaultOf(goodSecret, id).seal(`${id} access`, user.id, 'acme')
          const account = anAccount({
            provider: 'acme',
            sealedAccessToken,
            sealedRefreshToken: null,
            refreshingUntil: null,
          })
          await operator.users.insert({ ...user, oauthAccounts: count === 0 ? [] : [account] }, [])
        }
        return (await (await operator.signingKeys()).signer('EdDSA'))?.kid
      })
      expect(new Set(kids).size).to.equal(tenants.length)

      const both = { PORTCULLIS_SECRET: next, PORTCULLIS_FORMER_SECRETS: goodSecret }
      const check = async () => (await run(both, 'storage', 'check', '--tenant', 'bolt')).lines.at(-1)
      const needs = { isBound: true, users: 2, signingKeys: 1, until: null }
      expect(await check()).to.deep.equal({ formerSecret: 1, isNeeded: true, ...needs })

      const asked = await portcullis(['secret', 'rotate', '--json'], { cwd, env: { ...env, ...both } })
      expect([asked.code, asked.out]).to.deep.equal([2, ''])
      expect(await check()).to.deep.include(needs)
      const { code, lines } = await run(both, 'secret', 'rotate', '--yes')
      expect(code).to.equal(0)
      expect(lines.map(({ tenant, step, users, resealed }) => [tenant, step, users, resealed])).to.deep.equal(
        tenants.map((id) => [id, 'reseal', 3, 2]),
      )
      const until = lines[1].formerUntil
      expect(await check()).to.deep.equal({
        formerSecret: 1,
        isNeeded: false,
        isBound: false,
        users: 0,
        signingKeys: 0,
        until,
      })
      const kidsAfter = await inTenants({ PORTCULLIS_SECRET: next }, async ({ id, operator }) => {
        const { items } = await operator.users.list(10, null)
        const opened = items.flatMap((user) =>
          user.oauthAccounts.map((one) => vaultOf(next, id).unseal(one.sealedAccessToken, user.id, 'acme')),
        )
        expect(opened).to.deep.equal([`${id} access`, `${id} access`])
        return (await (await operator.signingKeys()).signer('EdDSA'))?.kid
      })
      expect(kidsAfter).to.deep.equal(kids)
    })
  })
}

describe('portcullis secret rotate with a file for each tenant', () => {
  it('does the steps of each file', async () => {
    const cwd = scratchFolder()
    await writeFile(join(cwd, 'portcullis.config.json'), JSON.stringify(settings))
    const { tenants: loaded } = await loadSettings({ cwd, env: {} })
    for (const tenant of loaded.enabled.values()) {
      const operator = await openOperator(tenant)
      await operator.secretRotation().finally(() => operator.close())
    }
    const secrets = async (id: string) =>
      (await readFile(join(cwd, 'data', 'tenants', id, 'secret'), 'utf8')).trimEnd().split('\n')
    const [former] = await secrets('bolt')
    for (const step of ['add', 'makeFirst', 'reseal']) {
      const { code, out } = await portcullis(['secret', 'rotate', '--yes', '--json'], { cwd })
      const lines = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect([code, ...lines.map((line) => [line.tenant, line.step])]).to.deep.equal([
        0,
        ...tenants.map((id) => [id, step]),
      ])
    }
    const [acme, bolt] = [await secrets('acme'), await secrets('bolt')]
    expect([acme.length, bolt.length, bolt[1]]).to.deep.equal([2, 2, former])
    expect(acme.filter((one) => bolt.includes(one))).to.deep.equal([])
  })
})
