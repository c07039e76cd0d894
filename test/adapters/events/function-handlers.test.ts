import { expect } from 'chai'
import { combinedHandlers } from '../../../src/adapters/events/combined-handlers.ts'
import { consoleHandlers } from '../../../src/adapters/events/console-handlers.ts'
import { functionHandlers } from '../../../src/adapters/events/function-handlers.ts'
import { wireUser } from '../../../src/adapters/events/handler-arguments.ts'
import { type Handlers, handlerNames } from '../../../src/adapters/events/handlers.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { Refusal } from '../../../src/domain/refusal.ts'
import { faultOf } from '../../support/fault-of.ts'
import { recording } from '../../support/scenes/delivery.ts'
import { aCall, callTypeOf } from './scratch-module.ts'

describe('handlers that are functions', () => {
  it('get the documented arguments, and their object as `this`', async () => {
    const seen: unknown[] = []
    class Mails {
      #seen = seen
      async on_after_forgot_password(...args: unknown[]) {
        this.#seen.push(args)
      }
    }
    const handlers = functionHandlers(new Mails())
    expect(handlerNames.filter((name) => handlers.handles(callTypeOf(name)))).to.deep.equal([
      'on_after_forgot_password',
    ])
    const call = aCall('on_after_forgot_password', { token: 'a token' })
    await handlers.call(call, 1)
    expect(seen).to.deep.equal([[wireUser(call.user), 'a token', call.context]])
  })

  it('fail when they throw, reject or exceed their time-out', async () => {
    const handlers = functionHandlers({
      on_after_register() {
        throw new TypeError('at once')
      },
      async on_after_login() {
        throw new RangeError('later')
      },
      on_after_delete: () => new Promise(() => {}),
    })
    expect(await faultOf(handlers.call(aCall('on_after_register'), 1))).to.include({ name: 'TypeError' })
    expect(await faultOf(handlers.call(aCall('on_after_login'), 1))).to.include({ name: 'RangeError' })
    const late = await faultOf(handlers.call(aCall('on_after_delete'), 0.05))
    expect(late).to.be.instanceOf(HandlerFailed).and.to.include({ name: 'HandlerTimedOut' })
  })

  it('fail with the cause of their error', async () => {
    const cause = new Error('getaddrinfo ENOTFOUND mail.example.com')
    const handlers = functionHandlers({
      on_after_register() {
        throw new TypeError('fetch failed', { cause })
      },
      on_after_login() {
        throw new TypeError('fetch failed', { cause: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }) })
      },
    })
    const unknown = await faultOf(handlers.call(aCall('on_after_register'), 1))
    expect(unknown).to.include({ message: 'fetch failed: getaddrinfo ENOTFOUND mail.example.com' })
    const refused = await faultOf(handlers.call(aCall('on_after_login'), 1))
    expect(refused).to.include({ message: 'fetch failed: ECONNREFUSED' })
  })

  it('may refuse a deletion by throwing a reason', async () => {
    const handlers = functionHandlers({
      on_before_delete() {
        throw new Refusal('DELETE_USER_REFUSED', 'has open invoices')
      },
    })
    const refusal = await faultOf(handlers.call(aCall('on_before_delete'), 1))
    expect(refusal).to.be.instanceOf(Refusal).and.to.include({ reason: 'has open invoices' })
  })
})

describe('the handler validate_password', () => {
  type Validate = NonNullable<Handlers['validate_password']>
  const asked = async (validate_password: Validate) => {
    const handlers = functionHandlers({ validate_password })
    const call = aCall('validate_password', { password: 'the password' })
    return { call, thrown: await faultOf(handlers.call(call, 1)) }
  }

  it('gets the password, the user and the context', async () => {
    const seen: unknown[] = []
    const { call, thrown } = await asked((...args) => void seen.push(args))
    expect(thrown).to.equal(null)
    expect(seen).to.deep.equal([['the password', wireUser(call.user), call.context]])
  })

  it('refuses by a reason that it returns or throws', async () => {
    const throwing = (): never => {
      throw { reason: 'is in a breach' }
    }
    const failing = async (): Promise<never> => {
      throw new Error('no network')
    }
    const all: readonly Validate[] = [() => 'is in a breach', async () => 'is in a breach', throwing]
    for (const refusing of all) {
      const { thrown } = await asked(refusing)
      expect(thrown).to.be.instanceOf(Refusal).and.to.include({ reason: 'is in a breach' })
    }
    expect((await asked(failing)).thrown).to.be.instanceOf(HandlerFailed)
  })
})

describe('the console as a handler', () => {
  const printing = () => {
    const lines: string[] = []
    return { lines, handlers: consoleHandlers((line) => void lines.push(line), null) }
  }

  it('handles every event, and none of the questions', () => {
    const { handlers } = printing()
    expect(handlerNames.filter((name) => !handlers.handles(callTypeOf(name)))).to.deep.equal([
      'on_before_delete',
      'validate_password',
    ])
  })

  it('prints an event as one line of JSON', async () => {
    const { handlers, lines } = printing()
    const forgot = aCall('on_after_forgot_password', { token: 'a token' })
    const update = aCall('on_after_update', { changes: { password: true, isSuperuser: false } })
    await handlers.call(forgot, 1)
    await handlers.call(update, 1)
    const { id, email } = forgot.user
    const user = { id, email, is_active: true, is_superuser: false, is_verified: true, ...forgot.user.fields }
    const changes = { password: true, is_superuser: false }
    expect(lines).to.deep.equal([
      `${JSON.stringify({ event: 'on_after_forgot_password', user, token: 'a token' })}\n`,
      `${JSON.stringify({ event: 'on_after_update', user: wireUser(update.user), changes })}\n`,
    ])
  })
})

describe('handlers combined', () => {
  const failing = (isFinal = false) =>
    recording(() => {
      throw Object.assign(new HandlerFailed(isFinal ? 'Final' : 'TypeError', 'no'), { isFinal })
    })

  it('are called one after the other, each for the events it handles', async () => {
    const order: string[] = []
    const first = recording(() => void order.push('first'), 'logged_in')
    const second = recording(() => void order.push('second'), 'deletion_requested')
    const both = combinedHandlers([first, second])
    expect(handlerNames.every((name) => both.handles(callTypeOf(name)))).to.equal(true)
    await both.call(aCall('on_after_register'), 1)
    await both.call(aCall('on_after_login'), 1)
    await both.call(aCall('on_before_delete'), 1)
    expect(order).to.deep.equal(['first', 'second', 'second', 'first'])
  })

  it('are all called although one of them fails, and a retry calls only that one', async () => {
    const [first, second, third] = [recording(), failing(), recording()]
    const all = combinedHandlers([first, second, third])
    const call = aCall('on_after_login')
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await faultOf(all.call(call, 1))).to.include({ name: 'TypeError' })
    }
    expect([first, second, third].map(({ calls }) => calls.length)).to.deep.equal([1, 3, 1])
    await faultOf(all.call({ ...call, context: { ...call.context, eventId: 'another' } }, 1))
    expect([first, second, third].map(({ calls }) => calls.length)).to.deep.equal([2, 4, 2])
  })

  it('remember 1000 events, so that a retry of an older one calls all of them again', async () => {
    const [first, second] = [recording(), failing()]
    const both = combinedHandlers([first, second])
    const call = aCall('on_after_login')
    const deliver = (eventId: string) => faultOf(both.call({ ...call, context: { ...call.context, eventId } }, 1))
    for (let event = 0; event <= 1000; event++) await deliver(`event ${event}`)
    await deliver('event 1')
    expect(first.calls.length).to.equal(1001)
    await deliver('event 0')
    expect(first.calls.length).to.equal(1002)
  })

  it('fail for good only when no retry of any of them can succeed', async () => {
    const both = combinedHandlers([failing(true), failing()])
    expect(await faultOf(both.call(aCall('on_after_login'), 1))).to.include({ isFinal: false })
    const one = combinedHandlers([failing(true), recording()])
    expect(await faultOf(one.call(aCall('on_after_login'), 1))).to.include({ isFinal: true })
  })
})
