import { expect } from 'chai'
import { dividedAmong, needsOneProcess, processesFor } from '../../../src/cli/processes/shares.ts'
import { settingsFolder } from '../../support/services/settings.ts'

const gigabyte = 2 ** 30

describe('the processes of one service', () => {
  const folder = settingsFolder()

  it('are as many as the cores, and at most as many as the memory suffices for', async () => {
    const { settings } = await folder.load({})
    const count = (cores: number, memoryBytes: number) => processesFor(settings, { cores, memoryBytes })
    expect([count(2, 4 * gigabyte), count(16, 64 * gigabyte), count(4, gigabyte)]).to.deep.equal([2, 16, 3])
    expect(count(8, gigabyte / 4), 'never none').to.equal(1)
  })

  it('divide the hashes and the connections, and none gets nothing', async () => {
    const loaded = await folder.load({ passwords: { concurrency: 6 }, http: { maxConnections: 1000 } })
    const bounds = [4, 8].map((processes) => {
      const { passwords, http } = dividedAmong(processes, loaded).settings
      return [passwords.concurrency, http.maxConnections]
    })
    expect(bounds).to.deep.equal([
      [1, 250],
      [1, 125],
    ])
  })

  it('cannot share what is in memory, of no tenant', async () => {
    const memory = { stores: { tokens: { kind: 'memory' } } }
    const mail = { url: 'off' }
    const list = { a: { ...memory, mail }, b: { mail: { url: 'mailbox:' } }, c: { mail } }
    const paths = needsOneProcess(await folder.load({ tenants: { by: 'path', list } })).map(({ path }) => path)
    expect(paths).to.deep.equal(['tenants.list.a.stores.tokens.kind', 'tenants.list.b.mail.url'])
    expect(needsOneProcess(await folder.load({ mail }))).to.deep.equal([])
  })
})
