import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { parseUserId } from '../../../src/domain/ids.ts'

describe('a new id', () => {
  it('is a UUID of version 7 that the domain accepts', () => {
    const id = newId()
    expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(parseUserId(id)).to.equal(id)
  })

  it('is unique, and sorts after all earlier ones (10 000)', () => {
    const ids = Array.from({ length: 10_000 }, newId)
    expect(new Set(ids).size).to.equal(10_000)
    expect([...ids].sort()).to.deep.equal(ids)
  })
})
