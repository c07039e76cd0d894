import { expect } from 'chai'
import { openShares, type Shares, type StoreHandle } from '../../../src/adapters/stores/store-backend.ts'
import { aSession } from '../../../src/testing/builders.ts'
import { expectUnavailable, recovers } from './outages.ts'

const clock = () => new Date()
export const common = { clock, warn() {}, isOneOfMany: true }

/** Opens stores for tenants, and closes them all at the end. */
export function tenantsOn(open: (tenant: string, shares: Shares) => Promise<StoreHandle>) {
  const shares = openShares()
  const handles: StoreHandle[] = []

  async function opened(tenant: string): Promise<StoreHandle> {
    const handle = await open(tenant, shares)
    handles.push(handle)
    return handle
  }

  return {
    opened,
    async prepared(tenant: string): Promise<StoreHandle> {
      const handle = await opened(tenant)
      await recovers(() => handle.prepare()) // a busy server may answer too late
      return handle
    },
    close: () => Promise.all(handles.map((handle) => handle.close())),
  }
}

export type Tenants = ReturnType<typeof tenantsOn>

export const of = <T>(role: T | undefined): T => {
  if (role === undefined) throw new Error('the store lacks a role')
  return role
}

/** The promises of each technology about handles that share a connection. */
export function promises(tenants: () => Tenants, many = 20): void {
  it('stays open for other tenants when one tenant closes it', async () => {
    const [one, other] = [await tenants().prepared('one'), await tenants().prepared('other')]
    const session = aSession()
    await of(one.sessions).put(session)
    await one.close()
    await one.close()
    await expectUnavailable(() => of(one.sessions).find(session.digest))
    await expectUnavailable(() => of(one.sessions).put(aSession()))
    await expectUnavailable(() => one.ping())
    await other.ping()
    await of(other.sessions).put(session)
    expect(await of(other.sessions).find(session.digest)).to.deep.equal(session)
    const again = await tenants().prepared('one')
    expect(await of(again.sessions).find(session.digest)).to.deep.equal(session)
  })

  it('can be prepared by many tenants at once, without a warning', async () => {
    const warnings: Error[] = []
    const warned = (warning: Error) => warnings.push(warning)
    process.on('warning', warned)
    const handles = await Promise.all(Array.from({ length: many }, (_, at) => tenants().prepared(`tenant${at}`)))
    await Promise.all(handles.map((handle) => of(handle.sessions).put(aSession())))
    process.off('warning', warned)
    expect(warnings).to.deep.equal([])
  })
}
