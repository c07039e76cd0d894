import { expect } from 'chai'
import { eventually } from '../support/eventually.ts'
import { call, goodPassword, logIn } from '../support/http/client.ts'
import { atOnce, callers, logsIn, newAddress, type Site, tally } from './site.ts'

/** Races of changes that people make to their own accounts. */
export function ownChangeRaces(running: () => Site): void {
  it('loses none of 64 changes of one account: each gets its own answer and one event', async () => {
    const site = running()
    const { id, email } = await site.person()
    const bearer = await logIn(site.url(), email)
    const addresses = Array.from({ length: callers }, newAddress)

    const answers = await atOnce((caller) =>
      call(site.url(caller), 'PATCH', '/users/me', { json: { email: addresses[caller] }, bearer }),
    )
    expect(tally(answers)).to.deep.equal({ 200: callers })
    const answered = answers.map(({ body }) => (body as { email: string }).email) // safe: 200 carries a User
    expect(answered).to.deep.equal(addresses)

    const { body } = await call(site.url(1), 'GET', '/users/me', { bearer })
    const { email: last } = body as { email: string } // safe: 200 carries a User
    expect(addresses).to.include(last)
    const former = [email, ...addresses].filter((address) => address !== last).slice(-4)
    expect(await Promise.all(former.map((address) => logsIn(site.url(), address)))).not.to.include(true)

    await logIn(site.url(), last)
    await site.event(({ event, user }) => event === 'on_after_login' && user.id === id && user.email === last)
    const told = site.events().filter(({ event, user }) => event === 'on_after_update' && user.id === id)
    expect(told.map(({ changes }) => changes?.email).sort()).to.deep.equal([...addresses].sort())
  })

  it('gives an address to exactly one of 16 users who each request it four times', async () => {
    const site = running()
    const wanted = newAddress()
    const users = await site.people(callers / 4)
    const tokens = await Promise.all(users.map(({ email }, caller) => logIn(site.url(caller), email)))

    const answers = await atOnce((caller) =>
      call(site.url(caller), 'PATCH', '/users/me', {
        json: { email: wanted },
        bearer: tokens[caller >> 2] ?? '',
      }),
    )
    // The winner may set the address again.
    expect(tally(answers)).to.deep.equal({ 200: 4, '400 UPDATE_USER_EMAIL_ALREADY_EXISTS': callers - 4 })
    const winners = answers.flatMap(({ status, body }) => (status === 200 ? [(body as { id: string }).id] : []))
    expect(new Set(winners).size).to.equal(1)
  })
}

/** Races of changes by superusers. */
export function superuserRaces(running: () => Site): void {
  it('loses none of four changes that different callers make to each of 16 accounts', async () => {
    const site = running()
    const users = await site.people(callers / 4)
    const respelt = (email: string) => email.replace('user', 'USER')
    const newPassword = `${goodPassword} anew`
    const changesOf = ({ email }: { email: string }) => [
      { email: respelt(email) },
      { password: newPassword },
      { is_superuser: true },
      { is_verified: true },
    ]
    const bearer = site.superuser()

    const answers = await Promise.all(
      users.flatMap((user, at) =>
        changesOf(user).map((json, which) =>
          call(site.url(at + which), 'PATCH', `/users/${user.id}`, { json, bearer }),
        ),
      ),
    )
    expect(tally(answers)).to.deep.equal({ 200: callers })

    for (const [at, { id, email }] of users.entries()) {
      const { body } = await call(site.url(at), 'GET', `/users/${id}`, { bearer })
      expect(body).to.deep.equal({
        id,
        email: respelt(email),
        is_active: true,
        is_superuser: true,
        is_verified: true,
        handle: null,
      })
    }
    const some = users.slice(0, 4)
    const letIn = await Promise.all(some.map(({ email }, at) => logsIn(site.url(at), email, newPassword)))
    expect(letIn).not.to.include(false)

    const changed = ({ id }: { id: string }) => {
      const told = site.events().filter(({ event, user }) => event === 'on_after_update' && user.id === id)
      return told.flatMap(({ changes = {} }) => Object.keys(changes))
    }
    await eventually('the events of all changes', () => users.every((user) => changed(user).length >= 5))
    await site.settled()
    for (const user of users) {
      expect(changed(user).sort()).to.deep.equal(['email', 'is_superuser', 'is_verified', 'password', 'previous_email'])
    }
  })

  it('lets exactly one of 64 callers delete an account, with one event', async () => {
    const site = running()
    const { id, email } = await site.person()
    const bearer = site.superuser()
    const answers = await atOnce((caller) => call(site.url(caller), 'DELETE', `/users/${id}`, { bearer }))
    expect(tally(answers)).to.deep.equal({ 204: 1, '404 Not Found': callers - 1 })
    expect(await logsIn(site.url(), email)).to.equal(false)

    const told = () => site.events().filter(({ user }) => user.id === id)
    await eventually('both events', () => told().length >= 2)
    await site.settled()
    // The events of two processes have no common order.
    expect(told().map(({ event }) => event)).to.have.members(['on_after_register', 'on_after_delete'])
  })
}
