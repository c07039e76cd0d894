import { expect } from 'chai'
import { openFastapiUsers } from '../../../src/adapters/transfer/fastapi-users/fastapi-users.ts'
import { Unavailable } from '../../../src/domain/refusal.ts'
import { formerMongo, formerPostgres, formerSqlite } from '../../compat/dumps/load.ts'
import { faultOf } from '../../support/fault-of.ts'
import { faultProxy } from '../../support/servers/fault-proxy.ts'
import { skipIfMissing } from '../../support/servers/obstacles.ts'
import { postgresObstacle } from '../../support/servers/postgres-server.ts'
import { mongoObstacle } from '../../support/stores/mongo.ts'
import { day, now, readFormer, userOf } from './read-former.ts'

const tooMany = (id: string) => `user ${id} lacks something; more than 100 linked accounts: the others are left out`

describe('hostile rows of a fastapi-users application', () => {
  it('are reported on SQLite, while the others are read', async () => {
    const former = await formerSqlite()
    const columns = 'id, email, hashed_password, is_active, is_superuser, is_verified, first_name, role, newsletter'
    const rest = `'$argon2id$x', true, false, 1, '', 'reader', 0`
    const linkColumns = 'oauth_name, access_token, account_id, account_email, expires_at, id, user_id'
    const loose = (table: string, id: string) =>
      `ALTER TABLE ${table} RENAME TO old; CREATE TABLE ${table} AS SELECT * FROM old; DROP TABLE old;
       CREATE INDEX ${table}_key ON ${table}(${id});`
    await former.change(`
      ${loose('user', 'id')} ${loose('oauth_account', 'user_id')} ${loose('accesstoken', 'user_id')}
      INSERT INTO user (${columns}) VALUES
        (NULL, 'null-id@example.com', ${rest}),
        (X'00ff', 'blob-id@example.com', ${rest}),
        (CAST(X'ff41' AS TEXT), 'utf8-id@example.com', ${rest}),
        ('x' || char(0) || 'y', 'nul-id@example.com', ${rest}),
        ('ABCDEF0123456789ABCDEF0123456789', 'hex@example.com', ${rest}),
        (9007199254740993, 'large-id@example.com', ${rest}),
        (101, NULL, ${rest}),
        (102, X'616263', ${rest}),
        (103, CAST(X'ff40612e62' AS TEXT), ${rest}),
        (104, 'flag@example.com', 'hash', 'perhaps', 0, NULL, '', 'reader', 0),
        (105, printf('%.*c', 200000, 'x') || '@example.com', ${rest}),
        (106, 'many@example.com', ${rest}),
        (107, 'odd@example.com', NULL, 1, 0, 1, X'ff', printf('%.*c', 9000, 'x'), 'no'),
        (108, 'nul' || char(0) || '@example.com', ${rest}),
        (109, 'unverified@example.com', '$argon2id$x', true, false, 0, '', 'reader', 0);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO oauth_account (${linkColumns}) SELECT 'acme', 't', 'many-' || i, 'a@b.c', NULL, 1000 + i, 106 FROM n;
      INSERT INTO oauth_account (${linkColumns}) VALUES
        ('acme', 't', NULL, 'a@b.c', 'soon', 900, 107),
        ('acme', 't', 'x', 'a@b.c', 1e300, 901, 107),
        ('acme', printf('%.*c', 70000, 'x'), 'y', 'a@b.c', 1, 902, 107),
        ('acme', 't', 'z', 'a@b.c', 1, 904, 109),
        ('acme', 't', 'orphan', 'a@b.c', 1, 903, 4711);
      INSERT INTO accesstoken (token, created_at, user_id) VALUES
        ('short', '2026-11-27 10:00:00', 107), (printf('%.*c', 43, 'z'), 'yesterday', 107),
        (printf('%.*c', 43, 'y'), '2099-01-01 00:00:00', 107), (printf('%.*c', 43, 'x'), '2026-11-27 10:00:00', 4711);
    `)
    const read = await readFormer(former.url)
    expect(read.users.length).to.equal(former.people.length + 6)
    expect(userOf(read, 'hex@example.com').id).to.equal('abcdef01-2345-6789-abcd-ef0123456789')
    expect(userOf(read, 'large-id@example.com').id).to.equal('9007199254740993')
    expect(userOf(read, 'nul\0@example.com').id).to.equal('108')
    const vouched = ['many@example.com', 'unverified@example.com'].map(
      (one) => userOf(read, one).accounts[0]?.vouchedEmail,
    )
    expect(vouched).to.deep.equal(['a@b.c', null])
    const odd = userOf(read, 'odd@example.com')
    expect([odd.passwordHash, odd.former]).to.deep.equal([null, { hashText: null }])
    expect(userOf(read, 'many@example.com').accounts).to.have.length(100)
    expect(odd.fields).to.include({ newsletter: 'no', first_name: '/w==' })
    expect(odd.accounts.map(({ accountId, expiresAt }) => [accountId, expiresAt])).to.deep.equal([['x', null]])
    const logins = odd.sessions.map(({ createdAt, endsAt }) => [createdAt, endsAt])
    expect(logins).to.deep.equal([[now, new Date(now.getTime() + 90 * day)]])
    const [oddReason, ...others] = read.reasons.sort().reverse()
    expect(oddReason?.split('; ').sort()).to.deep.equal([
      'a linked account: account_id is NULL and no text',
      'a linked account: it is too large',
      'a stored login: created_at is no time',
      'a stored login: its token is not of fastapi-users',
      'user 107 lacks something',
    ])
    expect(others.reverse()).to.deep.equal([
      '1 of the rows of "accesstoken" belong to no user',
      '1 of the rows of "oauth_account" belong to no user',
      'email is NULL and no text',
      'email is a blob and no text',
      'email is no valid UTF-8',
      ...Array.from({ length: 4 }, () => 'has an id that is neither a number nor a short text of ASCII'),
      'has more than 64 KiB',
      'is_active is a string and neither true nor false',
      tooMany('106'),
    ])
    const at = read.arrivals.findIndex(({ cursor }) => cursor.startsWith('other:'))
    const again = await readFormer(former.url, {}, read.arrivals[at]?.cursor)
    expect(again.arrivals).to.deep.equal(read.arrivals.slice(at + 1))
  })

  it('are reported on PostgreSQL, where columns and tables may have other names and types', async function () {
    skipIfMissing(this, postgresObstacle())
    const former = await formerPostgres()
    await former.change(`
      CREATE SCHEMA "My App";
      ALTER TABLE "user" ALTER email DROP NOT NULL, ALTER is_active DROP NOT NULL,
        ADD score numeric, ADD tags text[], ADD joined timestamp, ADD more jsonb, ADD big bigint;
      ALTER TABLE "user" RENAME email TO "E-Mail ""x""";
      ALTER TABLE "user" SET SCHEMA "My App";
      ALTER TABLE "My App"."user" RENAME TO "People";
      UPDATE "My App"."People" SET score = 1.5, tags = '{a,b}', joined = '2020-01-02 03:04:05', more = '["x"]', big = 7;
      INSERT INTO oauth_account (id, user_id, oauth_name, access_token, account_id, account_email)
        SELECT gen_random_uuid(), (SELECT id FROM "My App"."People" WHERE first_name = 'Zoë 8'), 'acme', 't', i, 'a@b.c'
        FROM generate_series(1, 20000) AS i;
      UPDATE "My App"."People" SET "E-Mail ""x""" = NULL WHERE first_name = 'Zoë 9';
      UPDATE "My App"."People" SET is_active = NULL WHERE first_name = 'Zoë 10';
    `)
    const read = await readFormer(former.url, {
      tables: { users: 'My App.People' },
      columns: { users: { email: 'E-Mail "x"', created_at: 'joined' } },
      fields: { points: 'score', labels: 'tags', since: 'joined', list: 'more', number: 'big' },
    })
    expect(read.users.length).to.equal(former.people.length - 1)
    expect(userOf(read, 'Person.10@example.com').isActive).to.equal(false)
    const { fields, createdAt } = userOf(read, 'Person.1@example.com')
    const since = '2020-01-02T03:04:05.000Z'
    expect(fields).to.deep.include({ points: 1.5, labels: ['a', 'b'], since, list: ['x'], number: 7 })
    expect(createdAt).to.deep.equal(new Date(since))
    expect(read.reasons.sort()).to.deep.equal([
      'email is NULL and no text',
      tooMany(userOf(read, 'Person.8@example.com').id),
    ])
    await former.close()
  })

  it('are reported on MongoDB', async function () {
    skipIfMissing(this, await mongoObstacle())
    const former = await formerMongo()
    const given = '"hashed_password": "x", "is_active": true, "is_superuser": false'
    const links = `[${Array.from({ length: 300 }, () => '{"oauth_name": 1}')}]`
    await former.change(`[
      {"_id": "text", "email": "text@example.com", ${given}, "is_verified": true},
      {"_id": 5, "email": "number@example.com", ${given}, "is_verified": true},
      {"email": 5, ${given}, "is_verified": true},
      {"email": "nothing@example.com"},
      {"email": "links@example.com", ${given}, "is_verified": true, "oauth_accounts": ${links}},
      {"email": "odd@example.com", ${given}, "is_verified": true, "oauth_accounts": ["x", null, {"oauth_name": 1}],
        "age": {"a": {"$numberDecimal": "1.5"}}},
      {"email": "none@example.com", ${given}, "is_verified": true, "oauth_accounts": "none"}
    ]`)
    // Older than the people of the dump, and so many that the oldest documents have no flags.
    const old = Array.from({ length: 120 }, (_, at) => ({
      _id: { $oid: String(at).padStart(24, '0') },
      email: `old.${at}@example.com`,
    }))
    await former.change(JSON.stringify(old))
    const read = await readFormer(former.url)
    expect(read.users.length).to.equal(former.people.length + 4 + old.length)
    const flags = { isActive: true, isSuperuser: false, isVerified: false, passwordHash: null }
    expect(userOf(read, 'nothing@example.com')).to.deep.include(flags)
    const { id, fields } = userOf(read, 'odd@example.com')
    expect(fields.age).to.deep.equal({ a: 1.5 })
    const [ofOdd, ofMany] = [id, userOf(read, 'links@example.com').id]
    expect(read.reasons).to.have.members([
      'email is a number and no text',
      'has an id of another type',
      'has an id of another type',
      `${tooMany(ofMany)}; a linked account: account_email is NULL and no text`,
      `user ${ofOdd} lacks something; a linked account: account_email is NULL and no text`,
    ])
    await former.close()
  })
})

describe('the database of a fastapi-users application', () => {
  const options = { lifetimeSeconds: null, now, warn() {} }

  it('may end the connection: the reader goes on behind the last cursor', async function () {
    skipIfMissing(this, postgresObstacle())
    const former = await formerPostgres()
    await former.change(`INSERT INTO "user" (id, email, hashed_password, is_active, is_superuser, is_verified, first_name, role, newsletter)
      SELECT gen_random_uuid(), 'copy-' || i || email, hashed_password, true, false, true, '', role, true
      FROM "user", generate_series(1, 100) AS i`)
    const proxy = await faultProxy(Number(new URL(former.url.replace('+asyncpg', '')).port))
    const from = former.url.replace(/:\d+\//, `:${proxy.port}/`)
    const source = await openFastapiUsers({ ...options, from })
    const seen: string[] = []
    const readOn = async () => {
      for await (const { cursor } of source.arrivals(seen.at(-1) ?? null)) {
        seen.push(cursor)
        if (seen.length === 10) await proxy.set('refuse')
      }
    }
    expect(await faultOf(readOn())).to.be.instanceOf(Unavailable)
    expect(seen.length).to.equal(1000)
    await proxy.set('pass')
    await readOn()
    expect(new Set(seen).size).to.equal(seen.length)
    expect(seen.length).to.equal(101 * former.people.length)
    await source.close()
    await proxy.close()
    await former.close()
  })

  it('is never written, and a refusal names neither user nor password', async function () {
    skipIfMissing(this, postgresObstacle())
    const former = await formerPostgres()
    await former.change('CREATE ROLE former_reader LOGIN; GRANT SELECT ON "user" TO former_reader')
    const asReader = former.url.replace('postgres@', 'former_reader:a-secret@')
    const refused = String(await faultOf(openFastapiUsers({ ...options, from: `${asReader}?sslmode=no` })))
    expect(refused)
      .to.match(/must have an sslmode/)
      .and.not.match(/a-secret/)
    const denied = String(await faultOf(readFormer(asReader)))
    expect(denied)
      .to.match(/permission denied for table oauth_account/)
      .and.not.match(/a-secret/)
    const nowhere = await faultOf(openFastapiUsers({ ...options, from: 'postgres://u:a-secret@127.0.0.1:1/x' }))
    expect(nowhere).to.be.instanceOf(Unavailable)
    await former.change('DROP OWNED BY former_reader; DROP ROLE former_reader')
    await former.close()
    for (const from of ['mysql://u:a-secret@h/x', 'mongodb://u:a-secret@h', 'sqlite:/nowhere/a.db', 'sqlite://']) {
      expect(String(await faultOf(openFastapiUsers({ ...options, from }))))
        .to.match(/--from/)
        .and.not.match(/a-secret/)
    }
  })
})
