import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { call, goodPassword } from '../support/http/client.ts'
import { portcullis } from '../support/process/command-line.ts'
import { scratchFolder, spawnService } from '../support/services/spawned-service.ts'

describe('portcullis user and storage, with fields of the deployer’s own', () => {
  const folder = scratchFolder()
  const declare = (fields: object) =>
    writeFileSync(join(folder, 'portcullis.config.json'), JSON.stringify({ users: { fields } }))
  const run = (...words: string[]) => portcullis(words, { cwd: folder })
  const text = { type: 'string' }
  /** A service that listens is ended at once. */
  const refusesToStart = async () => {
    const refusal = await spawnService({}, folder).then(
      async (service) => `listened, ${await service.end('SIGTERM')}`,
      String,
    )
    expect(refusal).to.include('users.fields.handle.unique').and.to.include('portcullis storage fields')
  }

  it('write and print a field, also one that users may neither write nor read', async () => {
    declare({ handle: text, note: { ...text, readOnly: true, private: true }, tags: { type: 'array' } })
    const service = await spawnService({}, folder)
    for (const [email, handle] of [
      ['ada@example.com', 'Ada'],
      ['grace@example.com', 'ADA'],
      ['joan@example.com', 'Joan'],
    ]) {
      const { status } = await call(service.url, 'POST', '/auth/register', {
        json: { email, password: goodPassword, handle },
      })
      expect(status).to.equal(201)
    }
    expect((await run('user', 'set-field', 'ada@example.com', 'note', '7')).code).to.equal(0)
    const { out } = await run('user', 'set-field', 'ada@example.com', 'tags', '["a"]')
    expect(out).to.match(/^tags of ada@example\.com is \["a"\] now/)
    const shown = await run('user', 'show', 'ada@example.com')
    expect(shown.out).to.include('field handle: "Ada"\nfield tags: ["a"]\nfield note: "7"\n')
    const wrong = await run('user', 'set-field', 'ada@example.com', 'tags', '7')
    expect([wrong.code, wrong.err]).to.deep.equal([2, 'portcullis: tags is refused: Input should be a valid list\n'])
    expect((await run('user', 'set-field', 'ada@example.com', 'is_superuser', 'true')).code).to.equal(2)
    await service.end('SIGTERM')
  })

  it('fill the keys of a field that becomes unique. Until then the service refuses to start', async () => {
    declare({ handle: { ...text, unique: true } })
    await refusesToStart()
    const duplicates = await run('storage', 'fields')
    expect(duplicates.code).to.equal(1)
    expect(duplicates.out).to.match(/^\S+\tgrace@example\.com\thandle\tanother user has this value\n$/)
    await refusesToStart()

    expect((await run('user', 'set-field', 'grace@example.com', 'handle', 'Amazing Grace')).code).to.equal(0)
    expect((await run('storage', 'fields')).code).to.equal(0)
    expect((await run('user', 'list', '--search', 'zing G')).out).to.match(/^\S+\tgrace@example\.com\t.*\n$/)
    const service = await spawnService({}, folder)
    const json = { email: 'new@example.com', password: goodPassword, handle: 'JOAN' }
    const { status, body } = await call(service.url, 'POST', '/auth/register', { json })
    expect([status, body]).to.deep.equal([400, { detail: { code: 'REGISTER_FIELD_ALREADY_EXISTS', reason: 'handle' } }])
    await service.end('SIGTERM')
  })

  it('list users whose values no longer fit', async () => {
    declare({ handle: { ...text, unique: true, maxLength: 4 } })
    const { code, out } = await run('storage', 'check')
    expect(code).to.equal(0)
    expect(out).to.match(/\(users, .*\): ok\n\S+\tgrace@example\.com\thandle\tdoes not fit\n$/)
    const line = (await run('--json', 'storage', 'check')).out.trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(line)).to.include({ email: 'grace@example.com', field: 'handle' })
    expect((await run('storage', 'fields')).out).to.equal('0 users have new keys\n')
  })
})
