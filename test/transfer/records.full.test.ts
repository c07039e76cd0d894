import { hash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { parseEmail } from '../../src/adapters/addresses/parse-email.ts'
import { objectionToHash } from '../../src/adapters/crypto/hash-schemes.ts'
import { newId } from '../../src/adapters/crypto/new-id.ts'
import { fieldRulesOf } from '../../src/adapters/fields/declared-fields.ts'
import { portsFor } from '../../src/adapters/stores/store-backend.ts'
import { openUsersFile, writeUsersFile } from '../../src/adapters/transfer/portcullis-file.ts'
import { DeleteUser } from '../../src/application/accounts/delete-user.ts'
import type { ArrivingUser, UserSource } from '../../src/application/ports/user-source.ts'
import { ExportUsers } from '../../src/application/transfer/export-users.ts'
import { deletedImport } from '../../src/application/transfer/import-marks.ts'
import { noCounts, sumOf } from '../../src/application/transfer/import-progress.ts'
import { type ImportedBatch, ImportUsers } from '../../src/application/transfer/import-users.ts'
import { loadSettings } from '../../src/config/settings/load.ts'
import type { Email } from '../../src/domain/email.ts'
import { noFactors } from '../../src/domain/factors.ts'
import { noFieldRules, noFields } from '../../src/domain/fields.ts'
import type { UserId } from '../../src/domain/ids.ts'
import { endSessions, isAlive, isAsImported, withPassword } from '../../src/domain/user.ts'
import { unique } from '../../src/domain/user-record.ts'
import { anAccount, anEvent, aSession, aUser, someFactors } from '../../src/testing/builders.ts'
import { changeUserOf, recording } from '../support/scenes/delivery.ts'
import { skipIfMissing } from '../support/servers/obstacles.ts'
import { scratchFolder } from '../support/services/spawned-service.ts'
import { mongoUnderTest } from '../support/stores/mongo.ts'
import { recovers } from '../support/stores/outages.ts'
import { postgresUnderTest } from '../support/stores/postgres.ts'
import { sqliteUnderTest } from '../support/stores/sqlite.ts'

const suites = [sqliteUnderTest, mongoUnderTest, postgresUnderTest]
type Opened = Awaited<ReturnType<typeof sqliteUnderTest.open>>

const vault = { seal: (token: string) => `sealed ${token}`, unseal: (sealed: string) => sealed.slice(7) }
const sealedBy = 'our secret'

function targetOf({ store }: Opened) {
  const { users, expiringMarks, loginTimes } = portsFor('users', 'the store', store)
  return { users, expiringMarks, loginTimes, sessions: portsFor('sessions', 'the store', store).sessions }
}

function importInto(opened: Opened, fieldRules = noFieldRules) {
  const { clock } = opened
  const needs = {
    vault,
    fieldRules,
    ids: 'uuid' as const,
    clock,
    newId,
    parseEmail,
    hashObjection: objectionToHash,
  }
  return new ImportUsers({ ...needs, target: targetOf(opened), sealedBy })
}

async function imported(opened: Opened, source: UserSource, isRehearsal = false, fieldRules = noFieldRules) {
  const batches: ImportedBatch[] = []
  for await (const batch of importInto(opened, fieldRules).execute(source, { isRehearsal })) batches.push(batch)
  const { counts = noCounts, digest = '' } = batches.at(-1) ?? {}
  return { counts, digest, problems: batches.flatMap(({ problems }) => problems) }
}

const goodHash = `$argon2id$v=19$m=65536,t=3,p=4$${'a'.repeat(22)}$${'b'.repeat(43)}`

/** A record of another system. */
function arriving(fields: Partial<ArrivingUser> = {}): ArrivingUser {
  return {
    type: 'user',
    id: randomUUID(),
    email: `${randomUUID()}@example.com`,
    passwordHash: goodHash,
    isActive: true,
    isSuperuser: false,
    isVerified: true,
    isOwnerProved: true,
    createdAt: null,
    lastLoginAt: null,
    factors: null,
    fields: {},
    accounts: [],
    sessions: [],
    credentials: null,
    former: { hashText: goodHash },
    ...fields,
  }
}

/** @param digested the records by which a later import finds what has changed */
function sourceOf(users: readonly ArrivingUser[], digested = users): UserSource {
  return {
    sealedBy: null,
    hasHashes: true,
    async *arrivals() {
      for (const [at, record] of users.entries()) {
        const digest = hash('sha256', JSON.stringify(digested[at]))
        yield { cursor: String(at), digest, record }
      }
    },
    close: async () => undefined,
  }
}

const link = (accountId: string) => ({
  id: null,
  provider: 'acme',
  accountId,
  accountEmail: 'ada@acme.example',
  vouchedEmail: null,
  accessToken: 'an access token',
  refreshToken: null,
  isSealed: false,
  expiresAt: null,
})

describe('an export of users', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portcullis-transfer-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const exported = async (opened: Opened, withHashes = true) => {
    const file = join(folder, randomUUID())
    const records = new ExportUsers(targetOf(opened)).execute({ withHashes })
    await writeUsersFile(file, { sealedBy, hasHashes: withHashes }, records, sumOf)
    return file
  }
  const opened = async (file: string) => {
    const source = await openUsersFile(file)
    if ('objection' in source) throw new Error(source.objection)
    return source
  }

  for (const from of suites) {
    it(`of ${from.name} is the same after an import to each store, and back`, async function () {
      for (const { start } of suites) skipIfMissing(this, (await start?.()) ?? null)
      const first = await from.open()
      await fill(first)
      const file = await recovers(() => exported(first))
      expect((await stat(file)).mode & 0o777).to.equal(0o600)
      const text = await readFile(file, 'utf8')
      for (const to of suites) {
        const second = await to.open()
        const source = await opened(file)
        // A busy server may answer too late. Then the operator runs the import again.
        const { counts, problems, digest } = await recovers(() => imported(second, source))
        expect(problems).to.deep.equal([])
        expect([counts.stored + counts.unchanged, counts.refused, counts.endedIds]).to.deep.equal([250, 0, 2])
        expect(digest).to.equal(source.end()?.digest)
        const back = await readFile(await recovers(() => exported(second)), 'utf8')
        const [theirs, ours] = [back.split('\n'), text.split('\n')]
        for (const [at, line] of ours.entries()) expect(theirs[at]).to.equal(line)
        expect(back).to.equal(text)
        const again = await recovers(() => imported(second, source))
        expect([again.counts.unchanged, again.counts.stored, again.counts.sessions]).to.deep.equal([250, 0, 0])
        expect(await portsFor('users', 'the store', second.store).outbox.count('waiting', 10)).to.equal(0)
        await source.close()
        await second.close()
      }
      await first.close()
    })
  }

  it('without hashes has none, and leaves the passwords of users who are there', async () => {
    const store = await sqliteUnderTest.open()
    const { users } = targetOf(store)
    const person = aUser({ oauthAccounts: [], fields: noFields, passwordHash: goodHash })
    await imported(store, sourceOf([arriving({ id: person.id, email: person.email })]))
    const file = await exported(store, false)
    expect(await readFile(file, 'utf8')).not.to.contain('$argon2')
    const source = await opened(file)
    expect((await imported(store, source)).counts.replaced).to.equal(1)
    expect((await users.find(person.id))?.passwordHash).to.equal(goodHash)
    await source.close()
    await store.close()
  })

  it('keeps what a later import from the former system compares', async () => {
    const [first, second] = [await sqliteUnderTest.open(), await sqliteUnderTest.open()]
    const [same, here, there, both, gone] = [arriving(), arriving(), arriving(), arriving(), arriving()]
    const session = { ...aSession(), generation: null, endsAt: new Date(first.clock().getTime() + 86_400_000) }
    const former = [{ ...same, sessions: [session] }, here, there, both, gone]
    await imported(first, sourceOf(former))
    const { users, sessions, expiringMarks } = targetOf(first)
    await sessions.remove(session.digest)
    const changeUser = changeUserOf(users)
    for (const { id } of [here, both]) {
      await changeUser.execute(id as UserId, (fresh) => ({
        type: 'replace',
        user: { ...fresh, isActive: false },
        events: [],
      }))
    }
    const deleted = await users.find(gone.id as UserId)
    if (deleted === null) throw new Error('was not stored')
    await users.remove(deleted, [anEvent(deleted, { type: 'deleted' })])
    for (const mark of [deletedImport(), deletedImport(gone.id)]) await expiringMarks.add(mark, session.endsAt)
    const source = await opened(await exported(first))
    await imported(second, source)

    const change = { isVerified: false }
    const later = former.map((one) => (one === there || one === both ? { ...one, ...change } : one))
    const { counts, problems } = await imported(second, sourceOf(later))
    expect([counts.unchanged, counts.replaced, counts.stored, counts.sessions]).to.deep.equal([2, 1, 0, 0])
    expect(problems.map(({ id }) => id)).to.have.members([both.id, gone.id])
    const found = await Promise.all(former.map(({ id }) => targetOf(second).users.find(id as UserId)))
    expect(found.map((user) => user && [user.isActive, user.isVerified])).to.deep.equal([
      [true, true],
      [false, true],
      [true, false],
      [false, true],
      null,
    ])
    expect((await imported(second, sourceOf(later))).counts.replaced).to.equal(0)
    expect((await imported(second, source)).counts.replaced).to.equal(0)
    await Promise.all([source.close(), first.close(), second.close()])
  })

  it('brings no provider tokens to a deployment with another secret', async () => {
    const store = await sqliteUnderTest.open()
    const account = { ...link('a'), accessToken: 'sealed by another', isSealed: true }
    const source = { ...sourceOf([arriving({ accounts: [account] })]), sealedBy: 'another secret' }
    const { counts, problems } = await imported(store, source)
    expect(counts.links).to.equal(1)
    expect(problems[0]?.problems.join()).to.contain('another secret has encrypted them')
    const found = await targetOf(store).users.findBy(unique.account({ provider: 'acme', accountId: 'a' }))
    expect(found?.oauthAccounts[0]?.sealedAccessToken).to.equal('')
    await store.close()
  })

  it('brings no user with a second factor to a deployment with another secret, and reports each', async () => {
    const store = await sqliteUnderTest.open()
    const { users } = targetOf(store)
    const [before, after] = [arriving({ factors: someFactors() }), arriving({ factors: someFactors() })]
    await imported(store, { ...sourceOf([before]), sealedBy })
    const source = sourceOf([{ ...before, factors: someFactors() }, after, arriving({ factors: noFactors })])
    const { counts, problems } = await imported(store, { ...source, sealedBy: 'another secret' })
    expect([counts.stored, counts.refused]).to.deep.equal([1, 2])
    for (const { isStored, problems: words } of problems) {
      expect([isStored, words.join()]).to.match(/^false,another secret has encrypted the second factor/)
    }
    expect((await users.find(before.id as never))?.factors).to.deep.equal(before.factors)
    expect(await users.find(after.id as never)).to.equal(null)
    await store.close()
  })
})

/** Users of every kind with sessions, and ended ids. */
async function fill(opened: Opened): Promise<void> {
  const { users, sessions, expiringMarks, loginTimes } = targetOf(opened)
  const now = opened.clock().getTime()
  const people = Array.from({ length: 250 }, (_, at) => {
    const oauthAccounts = [anAccount({ refreshingUntil: null })]
    return aUser({
      isSuperuser: at === 0,
      passwordHash: at === 1 ? null : goodHash,
      oauthAccounts: at < 50 ? oauthAccounts : [],
      fields:
        at === 2 ? { ...noFields, retired: { nickname: 'Ada', age: 36, tags: ['ü', 'b'], isMember: true } } : noFields,
      factors: at === 5 ? { ...someFactors(), isUnverified: true } : noFactors,
      endedUntil: at === 3 ? new Date(now + 60_000) : null,
      imported: at === 4 ? { generation: 7, hashText: 'of the former system', digest: 'x', version: 1 } : null,
      passwordVersion: 1,
      ...(at === 6 && { isActive: false, inactiveUntil: new Date(now + 86_400_000), inactiveReason: 'späm' }),
    })
  })
  for (const user of people) expect(await users.insert(user, [])).to.equal('stored')
  const [one, other] = people
  if (one === undefined || other === undefined) return
  const created = { createdAt: new Date(now - 5000), seenAt: new Date(now - 1000), provedAt: new Date(now - 7000) }
  const endsAt = new Date(now + 86_400_000)
  for (const { id } of [one, one, other]) await sessions.put(aSession({ userId: id, ...created, endsAt }))
  await loginTimes.recordLogin(one.id, new Date(now - 1000))
  for (const id of ['jwt one', 'jwt two']) await expiringMarks.add(id, new Date(now + 3_600_000))
}

for (const { name, start, open } of suites) {
  describe(`an import to ${name}`, () => {
    let store: Opened
    before(async function () {
      skipIfMissing(this, (await start?.()) ?? null)
      store = await open()
    })
    after(() => store?.close())

    const user = (id: string) => targetOf(store).users.find(id as never)

    it('reports each hostile record and stores the rest', async () => {
      const good = arriving({ email: 'ada@example.com' })
      const hostile = [
        arriving({ id: 'no id' }),
        arriving({ id: '42' }),
        arriving({ id: `${good.id}\0` }),
        arriving({ email: 'nobody' }),
        arriving({ email: 'a\0b@example.com' }),
        arriving({ email: 'ADA@example.com' }),
        arriving({ email: '' }),
        arriving({ email: `${'a'.repeat(300)}@example.com` }),
      ]
      const odd = [
        arriving({ passwordHash: '$argon2id$v=19$m=1048576,t=99,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA' }),
        arriving({ passwordHash: `$2b$16$${'a'.repeat(53)}` }),
        arriving({ passwordHash: '{SHA}plain' }),
        arriving({ passwordHash: '' }),
        arriving({ lacks: ['a linked account: it is too large'] }),
        arriving({ fields: { note: 'a\0b' } }),
        arriving({ fields: { note: '\ud800' } }),
        arriving({ fields: { note: 'x'.repeat(17_000) } }),
        arriving({ accounts: [link('a\0b')] }),
        arriving({ accounts: [link('')] }),
        arriving({ accounts: [link('x'.repeat(3000))] }),
        arriving({ accounts: [link('twice'), link('twice')] }),
        arriving({ accounts: Array.from({ length: 100_000 }, (_, at) => link(`many ${at}`)) }),
      ]
      const twice = [arriving({ accounts: [link('shared')] }), arriving({ accounts: [link('shared')] })]
      const all = [good, ...hostile, ...odd, ...twice]
      const rehearsed = await imported(store, sourceOf(all), true)
      expect(await user(good.id)).to.equal(null)
      const { counts, problems } = await imported(store, sourceOf(all))
      expect(rehearsed.counts).to.deep.equal(counts)
      expect(rehearsed.problems.map(({ id, isStored }) => [id, isStored])).to.deep.equal(
        problems.map(({ id, isStored }) => [id, isStored]),
      )
      expect(counts.refused).to.equal(hostile.length)
      expect(counts.stored).to.equal(all.length - hostile.length)
      expect(problems.filter(({ isStored }) => !isStored).map(({ id }) => id)).to.deep.equal(
        hostile.map(({ id }) => id),
      )
      expect(problems.filter(({ isStored }) => isStored)).to.have.length(odd.length + 1)
      for (const { id } of odd.slice(0, 4)) expect((await user(id))?.passwordHash).to.equal(null)
      expect((await user(odd.at(-1)?.id ?? ''))?.oauthAccounts).to.have.length(100)
      const holder = await targetOf(store).users.findBy(unique.account({ provider: 'acme', accountId: 'shared' }))
      expect(holder?.id).to.equal(twice[0]?.id)
    })

    it('follows the source in a later run, unless the user has changed here', async () => {
      const records = [arriving(), arriving()]
      await imported(store, sourceOf(records))
      const [one, other] = records
      const here = await user(other?.id ?? '')
      if (one === undefined || other === undefined || here === null) throw new Error('was not stored')
      expect(await targetOf(store).users.replace({ ...here, isVerified: false }, [])).to.equal('stored')
      const passwordHash = goodHash.replace('aaa', 'bbb')
      const password = { passwordHash, former: { hashText: passwordHash } }
      const changed = [{ ...one, ...password, isActive: false }, { ...other, isActive: false }, arriving()]
      const { counts, problems } = await imported(store, sourceOf(changed))
      expect([counts.stored, counts.replaced, counts.refused]).to.deep.equal([1, 1, 1])
      expect(problems[0]?.problems.join()).to.contain('the user stays as here')
      expect([(await user(one.id))?.isActive, (await user(other.id))?.isActive]).to.deep.equal([false, true])
      // Reset tokens of the password before do not set another one.
      expect((await user(one.id))?.passwordVersion).to.equal(2)
    })

    it('follows the source after a login and a logout here, and keeps what they have written', async () => {
      const soon = new Date(store.clock().getTime() + 60_000)
      const account = { ...link(randomUUID()), expiresAt: store.clock() }
      const record = arriving({ accounts: [account] })
      await imported(store, sourceOf([record]))
      const { users } = targetOf(store)
      const written = { passwordHash: goodHash.replace('bbb', 'ccc'), endedUntil: soon }
      await changeUserOf(users).execute(record.id as UserId, (fresh) => {
        const oauthAccounts = fresh.oauthAccounts.map((one) => ({
          ...one,
          sealedAccessToken: 'newer',
          expiresAt: soon,
        }))
        return { type: 'replace', user: { ...fresh, ...written, oauthAccounts }, events: [] }
      })
      const { counts } = await imported(store, sourceOf([{ ...record, isActive: false }]))
      expect([counts.replaced, counts.refused]).to.deep.equal([1, 0])
      const now = await user(record.id)
      expect(now).to.deep.include({ ...written, isActive: false, passwordVersion: 1 })
      expect(now?.oauthAccounts[0]).to.deep.include({ sealedAccessToken: 'newer', expiresAt: soon })

      await changeUserOf(users).execute(record.id as UserId, (fresh) => {
        return { type: 'replace', user: { ...fresh, isVerified: false }, events: [] }
      })
      expect((await imported(store, sourceOf([{ ...record, isSuperuser: true }]))).counts.refused).to.equal(1)
    })

    it('follows the second factors of a file, and keeps them if the source has none of its own', async () => {
      const [record, factors] = [arriving({ factors: someFactors() }), someFactors()]
      const password = { passwordHash: goodHash.replace('aaa', 'bbb') }
      const seen = []
      for (const next of [record, { ...record, factors }, { ...record, ...password, factors: null }]) {
        await imported(store, { ...sourceOf([next]), sealedBy })
        seen.push((await user(record.id))?.factors)
      }
      await imported(store, { ...sourceOf([{ ...record, factors: noFactors }]), sealedBy })
      seen.push((await user(record.id))?.factors)
      expect(seen).to.deep.equal([record.factors, factors, factors, noFactors])
    })

    it('never brings back a session that was ended here', async () => {
      const { userId: _, ...session } = aSession({ endsAt: new Date(store.clock().getTime() + 86_400_000) })
      const record = arriving({ sessions: [{ ...session, generation: null }] })
      expect((await imported(store, sourceOf([record]))).counts.sessions).to.equal(1)
      const { sessions } = targetOf(store)
      expect((await sessions.find(session.digest))?.userId).to.equal(record.id)
      expect((await imported(store, sourceOf([record]))).counts.sessions).to.equal(0)
      await sessions.remove(session.digest)
      expect((await imported(store, sourceOf([record]))).counts).to.include({ sessions: 0, unchanged: 1 })
      expect(await sessions.find(session.digest)).to.equal(null)
    })

    it('brings sessions that are dead to a user who has ended all logins here, and none that has ended', async () => {
      const record = arriving()
      await imported(store, sourceOf([record]))
      const person = (await user(record.id)) ?? expect.fail('was not stored')
      await targetOf(store).users.replace(endSessions(withPassword(person, goodHash), store.clock()), [])
      const inSeconds = (seconds: number) => new Date(store.clock().getTime() + seconds * 1000)
      const [live, ended] = [60, -60].map((seconds) => ({
        ...aSession({ endsAt: inSeconds(seconds) }),
        generation: null,
      }))
      const later = { ...record, sessions: [live, ended].filter((one) => one !== undefined) }
      // As in the source, whose digests are without sessions.
      const source = sourceOf([later], [record])
      expect((await imported(store, source)).counts).to.include({ unchanged: 1, sessions: 1 })
      const session = await targetOf(store).sessions.find(live?.digest ?? '')
      const now = (await user(record.id)) ?? expect.fail('is gone')
      expect([session?.userId, session && isAlive(now, session)]).to.deep.equal([record.id, false])
      expect([now.imported?.hashText, isAsImported(now)]).to.deep.equal([null, false])
    })

    it('lets former credentials go on only if the record says so, and keeps old addresses', async () => {
      const [former, other] = [
        arriving(),
        arriving({ former: null, email: `${'a'.repeat(70)}.${randomUUID()}@example.com` }),
      ]
      expect((await imported(store, sourceOf([former, other]))).problems).to.deep.equal([])
      const found = [await user(former.id), await user(other.id)]
      expect(found.map((one) => one !== null && isAsImported(one))).to.deep.equal([true, false])
      expect(found[1]?.email).to.equal(other.email)
    })

    it('reports values of own fields that do not fit or that another user has', async () => {
      const folder = scratchFolder()
      const fields = { handle: { type: 'string', unique: true }, age: { type: 'integer' } }
      writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify({ users: { fields } }))
      const { settings } = await loadSettings({ cwd: folder, env: {} })
      const rules = fieldRulesOf(settings.users)
      const handle = `Handle-${randomUUID()}`
      const records = [{ handle, age: 36 }, { handle: handle.toLowerCase() }, { age: 'old' }].map((fields) =>
        arriving({ fields }),
      )
      const rehearsed = await imported(store, sourceOf(records), true, rules)
      const { counts, problems } = await imported(store, sourceOf(records), false, rules)
      expect(rehearsed.problems).to.deep.equal(problems)
      expect([counts.stored, problems.map((one) => one.problems)]).to.deep.equal([
        3,
        [
          ['lacks its value of the field handle: another user has it'],
          ['the value of the field age does not fit: it is kept, and nobody sees it'],
        ],
      ])
      const shown = await Promise.all(records.map(async ({ id }) => (await user(id))?.fields))
      expect(shown.map((fields) => [fields?.shown, fields?.retired])).to.deep.equal([
        [{ handle, age: 36 }, {}],
        [{ handle: null, age: null }, {}],
        [{ handle: null, age: null }, { age: 'old' }],
      ])
    })

    it('brings no user back who was deleted here, but a user of a file', async () => {
      const { users, expiringMarks } = targetOf(store)
      const record = arriving()
      await imported(store, sourceOf([record]))
      const person = (await user(record.id)) ?? expect.fail('was not stored')
      const changeUser = changeUserOf(users)
      const needs = {
        users,
        tenant: 'default',
        changeUser,
        expiringMarks,
        clock: store.clock,
        newId,
        freshLoginSeconds: null,
      }
      const deleteUser = new DeleteUser({ ...needs, eventHandlers: recording(async () => undefined) })
      await deleteUser.execute({ by: { type: 'command' }, target: person, requestId: 'request' })
      const { counts, problems } = await imported(store, sourceOf([record, arriving()]))
      expect([counts.stored, counts.refused]).to.deep.equal([1, 1])
      expect(problems[0]?.problems).to.deep.equal(['the user was deleted here'])
      expect(await user(record.id)).to.equal(null)
      const inFile = { ...record, credentials: { generation: 0, keptSid: null, endedUntil: null } }
      expect((await imported(store, sourceOf([inFile]), true)).counts.stored).to.equal(1)
    })

    it('stores a user without the sessions that the store refuses', async () => {
      const ends = { endsAt: new Date(store.clock().getTime() + 86_400_000) }
      const sessions = [aSession(ends), aSession({ ...ends, sid: 'a\0b' })]
      const other = arriving({ sessions: [aSession(ends)] })
      const { counts, problems } = await imported(store, sourceOf([arriving({ sessions }), other]))
      const isRefused = name === 'PostgreSQL'
      expect([counts.stored, counts.sessions, counts.refused]).to.deep.equal([2, isRefused ? 2 : 3, 0])
      expect(await targetOf(store).sessions.listOf(other.id as UserId)).to.have.length(1)
      const told = ['lacks 1 sessions: the store has refused them']
      expect(problems.map(({ isStored, problems }) => [isStored, problems])).to.deep.equal(
        isRefused ? [[true, told]] : [],
      )
    })

    it('brings the end and the reason of a deactivation, without a reason that no store keeps', async () => {
      const inactiveUntil = new Date(store.clock().getTime() + 86_400_000)
      const [one, other, active] = [
        arriving({ isActive: false, inactiveUntil, inactiveReason: 'späm' }),
        arriving({ isActive: false, inactiveReason: 'a NUL: \0' }),
        arriving({ inactiveUntil, inactiveReason: 'of an active user' }),
      ]
      const { counts, problems } = await imported(store, sourceOf([one, other, active]))
      expect(counts.stored).to.equal(3)
      expect(problems.map(({ problems: [first] }) => first?.slice(0, 36))).to.deep.equal([
        'has no reason of the deactivation: i',
      ])
      expect(await user(one.id)).to.deep.include({ isActive: false, inactiveUntil, inactiveReason: 'späm' })
      const none = { inactiveUntil: null, inactiveReason: null }
      expect(await user(other.id)).to.deep.include({ isActive: false, ...none })
      expect(await user(active.id)).to.deep.include({ isActive: true, ...none })
    })

    it('never touches a user who was not imported', async () => {
      const own = aUser({ imported: null, email: `${randomUUID()}@example.com` as Email })
      await targetOf(store).users.insert(own, [])
      const { counts, problems } = await imported(store, sourceOf([arriving({ id: own.id })]))
      expect(counts.refused).to.equal(1)
      expect(problems[0]?.problems).to.deep.equal(['a user who was not imported has this id'])
      expect(await user(own.id)).to.deep.equal(own)
    })
  })
}
