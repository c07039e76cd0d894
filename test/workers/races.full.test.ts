import { join } from 'node:path'
import { expect } from 'chai'
import { spellings } from '../races/registration.ts'
import { atOnce, callers, newAddress } from '../races/site.ts'
import { goodPassword } from '../support/client.ts'
import { enrol } from '../support/enrol.ts'
import { quickest } from '../support/quickest.ts'
import { scratchFolder } from '../support/spawned-service.ts'
import type { Bearer, Outcome } from './embedding-process.ts'
import { type EmbeddingProcesses, startEmbeddingProcesses } from './embedding-processes.ts'

const losersTried = 8
const newPassword = `${goodPassword} anew`

/** How many outcomes there were of each kind: `{ done: 1, NOT_FOUND: 63 }`. */
function tally(outcomes: readonly Outcome<unknown>[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) {
    const kind = 'value' in outcome ? 'done' : 'refusal' in outcome ? outcome.refusal : outcome.fault
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

describe('a race without HTTP, of four processes on one SQLite file', () => {
  let programs: EmbeddingProcesses
  let superuser: Bearer
  const dataFolder = join(scratchFolder(), 'data')

  before(async () => {
    programs = await startEmbeddingProcesses(4, dataFolder)
    const email = newAddress()
    await programs.need(0, 'createSuperuser', email, goodPassword)
    superuser = await bearerOf(email)
  })
  after(async () => {
    expect(await programs.stop()).to.deep.equal([0, 0, 0, 0])
    expect(programs.errors.filter((line) => !line.includes('generated a secret'))).to.deep.equal([])
  })

  const people = (count: number) => enrol(quickest, dataFolder, Array.from({ length: count }, newAddress))
  async function person() {
    const [somebody] = await people(1)
    if (somebody === undefined) throw new Error('nobody was enrolled')
    return somebody
  }
  const logsIn = async (email: string, password = goodPassword, caller = 0) =>
    'value' in (await programs.ask(caller, 'logIn', email, password, 'jwt'))
  const lives = async (bearer: Bearer, caller = 0) => 'value' in (await programs.ask(caller, 'authenticate', bearer))
  const told = (id: string, event: string) => programs.events.filter((one) => one.event === event && one.user.id === id)

  async function bearerOf(email: string, password = goodPassword, caller = 0): Promise<Bearer> {
    return { backend: 'jwt', value: await programs.need(caller, 'logIn', email, password, 'jwt') }
  }

  async function tokenFor(purpose: 'reset_password' | 'verify_email', email: string): Promise<string> {
    await programs.need(2, 'askForToken', purpose, email)
    const handler = purpose === 'reset_password' ? 'on_after_forgot_password' : 'on_after_request_verify'
    const { token = '' } = await programs.event(({ event, user }) => event === handler && user.email === email)
    return token
  }

  /** A user's events come in order: with their next login all that was before has been told. */
  async function settled(id: string, email: string, password = goodPassword): Promise<void> {
    const before = told(id, 'on_after_login').length
    await bearerOf(email, password)
    await programs.event(() => told(id, 'on_after_login').length > before)
  }

  it('lets exactly one of 64 callers register an address, however each spells it, and tells of it once', async () => {
    const tag = newAddress().replace(/@.*/, '')
    const written = spellings(tag)
    const passwordOf = (caller: number) => `${goodPassword} ${caller}`
    const outcomes = await atOnce((caller) =>
      programs.ask(caller >> 4, 'register', written[caller % written.length] ?? '', passwordOf(caller)),
    )
    expect(tally(outcomes)).to.deep.equal({ done: 1, REGISTER_USER_ALREADY_EXISTS: callers - 1 })

    const winner = outcomes.findIndex((outcome) => 'value' in outcome)
    const registered = outcomes[winner]
    if (registered === undefined || !('value' in registered)) throw new Error('nobody won')
    for (const [at, email] of written.filter((_, at) => at % 5 === 0).entries()) {
      expect(await logsIn(email, passwordOf(winner), at)).to.equal(true)
    }
    expect(await logsIn(written[0] ?? '', passwordOf((winner + 1) % callers))).to.equal(false)
    await programs.event(({ event, user }) => event === 'on_after_login' && user.id === registered.value.id)
    const tales = programs.events.filter(({ event, user }) => event === 'on_after_register' && user.email.includes(tag))
    expect(tales.map(({ user }) => user.id)).to.deep.equal([registered.value.id])
  })

  it('loses none of 64 changes of one account: each is answered with its own, and told of once', async () => {
    const { id, email } = await person()
    const bearer = await bearerOf(email)
    const addresses = Array.from({ length: callers }, newAddress)
    const outcomes = await atOnce((caller) =>
      programs.need(caller, 'changeOwn', bearer, { email: addresses[caller] ?? '' }),
    )
    expect(outcomes.map((user) => user.email)).to.deep.equal(addresses)
    const last = await programs.need(3, 'read', id)
    expect(addresses).to.include(last.email)
    await settled(id, last.email)
    const changed = told(id, 'on_after_update').map(({ changes }) => changes?.email)
    expect(changed.sort()).to.deep.equal([...addresses].sort())
  })

  it('gives an address that 16 users want, each of them four times at once, to exactly one of them', async () => {
    const wanted = newAddress()
    const users = await people(callers / 4)
    const bearers = await Promise.all(users.map(({ email }, at) => bearerOf(email, goodPassword, at)))
    const outcomes = await atOnce((caller) =>
      programs.ask(caller, 'changeOwn', bearers[caller >> 2] ?? superuser, { email: wanted }),
    )
    // Whoever has it may be given it again.
    expect(tally(outcomes)).to.deep.equal({ done: 4, UPDATE_USER_EMAIL_ALREADY_EXISTS: callers - 4 })
    const winners = outcomes.flatMap((outcome) => ('value' in outcome ? [outcome.value.id] : []))
    expect(new Set(winners).size).to.equal(1)
  })

  it('loses none of four changes that different callers make to each of 16 accounts', async () => {
    const users = await people(callers / 4)
    const respelt = (email: string) => email.replace('user', 'USER')
    const outcomes = await Promise.all(
      users.flatMap(({ id, email }, at) =>
        [{ email: respelt(email) }, { password: newPassword }, { isSuperuser: true }, { isVerified: true }].map(
          (changes, which) => programs.ask(at + which, 'changeAny', superuser, id, changes),
        ),
      ),
    )
    expect(tally(outcomes)).to.deep.equal({ done: callers })
    for (const [at, { id, email }] of users.entries()) {
      const whole = { id, email: respelt(email), isActive: true, isSuperuser: true, isVerified: true }
      expect(await programs.need(at, 'read', id)).to.deep.equal(whole)
      await settled(id, email, newPassword)
      const changed = told(id, 'on_after_update').flatMap(({ changes = {} }) => Object.keys(changes))
      expect(changed.sort()).to.deep.equal(['email', 'is_superuser', 'is_verified', 'password', 'previous_email'])
    }
  })

  it('gives an address that 64 users are given to exactly one of them', async () => {
    const wanted = newAddress()
    const users = await people(callers)
    const outcomes = await atOnce((caller) =>
      programs.ask(caller, 'changeAny', superuser, users[caller]?.id ?? '', { email: wanted }),
    )
    expect(tally(outcomes)).to.deep.equal({ done: 1, UPDATE_USER_EMAIL_ALREADY_EXISTS: callers - 1 })
    expect(await logsIn(wanted)).to.equal(true)
  })

  it('lets exactly one of 64 callers delete an account, and tells of it once', async () => {
    const { id, email } = await person()
    const outcomes = await atOnce((caller) => programs.ask(caller, 'remove', id))
    expect(tally(outcomes)).to.deep.equal({ done: 1, NOT_FOUND: callers - 1 })
    expect(await logsIn(email)).to.equal(false)
    await programs.event(({ event, user }) => event === 'on_after_delete' && user.id === id)
    const another = await person() // registered later, told of later
    await programs.event(({ user }) => user.id === another.id)
    const tales = programs.events.filter(({ user }) => user.id === id)
    expect(tales.map(({ event }) => event)).to.deep.equal(['on_after_register', 'on_after_delete'])
  })

  it('lets exactly one of 64 callers redeem a reset token, and only their password logs in', async () => {
    const { id, email } = await person()
    const token = await tokenFor('reset_password', email)
    const passwordOf = (caller: number) => `${goodPassword} ${caller}`
    const outcomes = await atOnce((caller) => programs.ask(caller, 'reset', token, passwordOf(caller)))
    expect(tally(outcomes)).to.deep.equal({ done: 1, RESET_PASSWORD_BAD_TOKEN: callers - 1 })

    const winner = outcomes.findIndex((outcome) => 'value' in outcome)
    const others = Array.from({ length: losersTried }, (_, step) => passwordOf((winner + 1 + step) % callers))
    const letIn = await Promise.all([goodPassword, ...others].map((password, at) => logsIn(email, password, at)))
    expect(letIn).not.to.include(true)
    expect(await logsIn(email, passwordOf(winner))).to.equal(true)
    await programs.event(({ event, user }) => event === 'on_after_login' && user.id === id)
    expect(told(id, 'on_after_reset_password')).to.have.lengthOf(1)
  })

  it('lets exactly one of 64 callers redeem a verification token', async () => {
    const { id, email } = await person()
    const token = await tokenFor('verify_email', email)
    const outcomes = await atOnce((caller) => programs.ask(caller, 'verify', token))
    const { done, VERIFY_USER_BAD_TOKEN: unknown = 0, VERIFY_USER_ALREADY_VERIFIED: known = 0 } = tally(outcomes)
    expect([done, unknown + known], JSON.stringify(tally(outcomes))).to.deep.equal([1, callers - 1])
    await settled(id, email)
    expect(told(id, 'on_after_verify')).to.have.lengthOf(1)
  })

  const endings = [
    {
      title: 'a password change',
      passwordAfter: newPassword,
      prepare: async (email: string) => (await bearerOf(email)).value,
      end: (_id: string, value: string) =>
        programs.need(1, 'changeOwn', { backend: 'jwt', value }, { password: newPassword }),
    },
    {
      title: 'a password reset',
      passwordAfter: newPassword,
      prepare: (email: string) => tokenFor('reset_password', email),
      end: (_id: string, token: string) => programs.need(1, 'reset', token, newPassword),
    },
    {
      title: 'a deactivation',
      passwordAfter: null,
      prepare: async () => '',
      end: (id: string) => programs.need(1, 'changeAny', superuser, id, { isActive: false }),
    },
    {
      title: 'a deletion',
      passwordAfter: null,
      prepare: async () => '',
      end: (id: string) => programs.need(1, 'remove', id),
    },
  ]

  for (const { title, passwordAfter, prepare, end } of endings) {
    it(`lets no login that races ${title} leave a live session`, async () => {
      const users = await people(4)
      await Promise.all(
        users.map(async ({ id, email }) => {
          const prepared = await prepare(email)
          let begin = (): void => undefined
          const ended = new Promise<void>((resolve) => {
            begin = resolve
          }).then((): Promise<unknown> => end(id, prepared))
          const logins = (['jwt', 'cookie', 'jwt', 'cookie'] as const).map(async (backend, caller) => {
            const outcome = await programs.ask(caller, 'logIn', email, goodPassword, backend)
            begin()
            if ('value' in outcome) return [{ backend, value: outcome.value }]
            expect(outcome).to.deep.equal({ refusal: 'LOGIN_BAD_CREDENTIALS' })
            return []
          })
          const issued = (await Promise.all(logins)).flat()
          await ended
          expect(issued.length, 'logins that succeeded').to.be.at.least(1)
          const alive = await Promise.all(issued.map((bearer, caller) => lives(bearer, caller)))
          expect(alive, `live after ${title}`).not.to.include(true)
          if (passwordAfter !== null) expect(await logsIn(email, passwordAfter)).to.equal(true)
        }),
      )
    })
  }
})
