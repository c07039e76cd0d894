import { expect } from 'chai'
import type { Email } from '../../src/domain/email.ts'
import {
  idKinds,
  isUserId,
  jsonId,
  kindOf,
  parseEventId,
  parseUserId,
  tenantRecordId,
  type UserId,
} from '../../src/domain/ids.ts'
import { isAlive, newUser } from '../../src/domain/user.ts'

const uuid = '019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071'
const digits = uuid.replaceAll('-', '')
const objectId = '65f0c0ffee65f0c0ffee65f0'

describe('the id of a user', () => {
  it('is read from every form in which Python reads a UUID', () => {
    for (const text of [
      uuid,
      uuid.toUpperCase(),
      digits,
      `{${uuid}}`,
      `{${digits}}`,
      `urn:uuid:${uuid}`,
      `uuid:${digits}`,
    ]) {
      expect(parseUserId(text), text).to.equal(uuid)
    }
  })

  it('is read from a whole number and from an ObjectId', () => {
    for (const text of ['1', '42', '9007199254740991', objectId]) expect(parseUserId(text), text).to.equal(text)
    expect(parseUserId(objectId.toUpperCase())).to.equal(objectId)
  })

  it('is nothing else', () => {
    const none = [
      '',
      '0',
      '-1',
      '+1',
      '042',
      '1.0',
      '1e3',
      ' 1',
      '1 ',
      '4_2',
      '٤٢',
      '9007199254740992',
      '99999999999999999',
    ]
    const noUuid = [
      `${digits}0`,
      digits.slice(1),
      `g${digits.slice(1)}`,
      `urn:${'{'.repeat(10_000)}${digits}`,
      '{}',
      'me',
    ]
    for (const text of [...none, ...noUuid, `{${objectId}}`, '{42}', 'urn:uuid:42', `${objectId}0`]) {
      expect(parseUserId(text), text).to.equal(null)
    }
  })

  it('is told from other values only in the form that the stores hold', () => {
    for (const id of [uuid, '42', objectId]) expect(isUserId(id), id).to.equal(true)
    for (const other of [digits, uuid.toUpperCase(), 42, '042', null, { $ne: '' }])
      expect(isUserId(other)).to.equal(false)
  })

  it('tells its kind, and is a number in JSON if it is an integer', () => {
    const ids = [uuid, '42', objectId].map((text) => parseUserId(text) ?? tenantRecordId)
    expect(ids.map(kindOf)).to.deep.equal(idKinds)
    expect(ids.map(jsonId)).to.deep.equal([uuid, 42, objectId])
  })

  it('is never that of the record of a tenant', () => {
    expect(kindOf(tenantRecordId)).to.equal('uuid') // users have version 7
  })
})

describe('a number that comes again', () => {
  it('gives its new user no credential of the former one', () => {
    const created = (id: string, at: number) => newUser(id as UserId, 'a@example.com' as Email, null, new Date(at))
    const [former, later] = [created('1', 1_000), created('1', 2_000)]
    expect(isAlive(later, { sid: 'a', generation: former.sessions.generation })).to.equal(false)
    expect(created(uuid, 1_000).sessions.generation).to.equal(0)
  })
})

describe('the id of an event', () => {
  it('is a UUID with dashes, in any case', () => {
    expect(parseEventId(uuid.toUpperCase())).to.equal(uuid)
    for (const text of [digits, '42', objectId]) expect(parseEventId(text)).to.equal(null)
  })
})
