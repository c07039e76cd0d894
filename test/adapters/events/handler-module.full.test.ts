import { expect } from 'chai'
import { wireUser } from '../../../src/adapters/events/handler-arguments.ts'
import { handlerNameOf } from '../../../src/adapters/events/handlers.ts'
import { handlerModule } from '../../../src/adapters/events/module/module-handlers.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { Refusal, Unavailable } from '../../../src/domain/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { faultOf } from '../../support/fault-of.ts'
import { aCall, collecting, scratchModule } from './scratch-module.ts'

describe('a module of handlers', () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  function prepared(source: string, loadSeconds?: number) {
    const scratch = scratchModule(source)
    const warnings: object[] = []
    const log = { warn: (fields: object, message: string) => void warnings.push({ ...fields, message }) }
    const { output, text } = collecting()
    const options = { url: scratch.url, log, output, ...(loadSeconds !== undefined && { loadSeconds }) }
    const module = handlerModule(options)
    cleanups.push(scratch.remove, () => module.close())
    return { ...scratch, module, warnings, printed: text }
  }

  async function started(source: string) {
    const opened = prepared(source)
    await opened.module.start()
    return opened
  }

  const failureOf = async (call: Promise<void>): Promise<HandlerFailed> => {
    const fault = await faultOf(call)
    if (fault instanceof HandlerFailed) return fault
    throw new Error(`not a failure of a handler: ${fault}`)
  }

  const calls = [
    ...(['register', 'verify', 'reset_password', 'login', 'delete'] as const).map((name) => aCall(`on_after_${name}`)),
    aCall('on_after_request_verify', { token: 'a token' }),
    aCall('on_after_forgot_password', { token: 'a token' }),
    aCall('on_after_update', { changes: { password: true, isActive: false, isVerified: true } }),
    aCall('on_before_delete'),
  ]
  it('passes the documented arguments to every handler', async () => {
    const { module, notes } = await started(
      calls.map(({ type }) => `export const ${handlerNameOf(type)} = (...args) => note(args)`).join('\n'),
    )
    for (const call of calls) {
      await module.call(call, 5)
      const changes = call.changes && { password: true, is_active: false, is_verified: true }
      const own = [call.token, changes].filter((one) => one !== undefined)
      const context = { ...call.context, at: call.context.at.toISOString() }
      expect(notes().at(-1), call.type).to.deep.equal([wireUser(call.user), ...own, context])
    }
  })

  it('calls exports with the name of a handler, and warns of similar names', async () => {
    const { module, warnings } = await started(
      `export function on_after_register() {}
       export const on_after_login = 'not a function'
       export function on_after_registration() {}
       export function helper() {}`,
    )
    expect(module.handles('registered')).to.equal(true)
    expect(module.handles('logged_in')).to.equal(false)
    const message = 'the handler module exports a name that is not a handler'
    expect(warnings).to.deep.equal([
      { export: 'on_after_login', message },
      { export: 'on_after_registration', hint: 'did you mean on_after_register?', message },
    ])
  })

  for (const [title, source, reason] of [
    ['has a syntax error', '\n\nexport function on_after_register( {}', /SyntaxError: .* \(handlers\.mjs, line \d\)$/m],
    ['imports a missing name', "\nimport { no } from 'node:fs'", /SyntaxError: .* \(handlers\.mjs, line \d\)$/m],
    ['imports a missing file', "import './nothing.mjs'", /Cannot find module/],
    ['throws while it is loaded', "throw new TypeError('no mail server')", /TypeError: no mail server/],
    ['exits while it is loaded', 'process.exit(0)', /ended while it was loaded/],
    ['loads for ever', 'for (;;);', /did not load within 0.5 s/],
    ['waits for ever', 'setInterval(() => {}, 1000); await new Promise(() => {})', /did not load within 0.5 s/],
  ] as const) {
    it(`cannot be started when it ${title}, and says so`, async () => {
      const { module, url } = prepared(source, title.endsWith('for ever') ? 0.5 : 10)
      const fault = await faultOf(module.start())
      expect(fault).to.be.instanceOf(Error)
      expect(String(fault)).to.include(url.href).and.match(reason)
    })
  }

  it('reports the name and the place of an error, and goes on', async () => {
    const { module, warnings } = await started(
      `export async function on_after_register(user) { null.trim() }
       export function on_after_login() { throw 'a string' }
       export function on_after_verify() {}`,
    )
    const failure = await failureOf(module.call(aCall('on_after_register'), 5))
    expect(failure.name).to.equal('TypeError')
    expect(failure.message).to.match(/Cannot read properties of null/)
    expect(failure.where).to.match(/^handlers\.mjs:4:\d+$/)
    expect(await failureOf(module.call(aCall('on_after_login'), 5))).to.include({ message: 'a string', where: null })
    await module.call(aCall('on_after_verify'), 5)
    expect(warnings).to.deep.equal([])
  })

  it('survives any value that a handler throws', async () => {
    const { module, warnings } = await started(
      `const error = (fields) => Object.assign(new Error('no'), fields)
       const thrown = [
         Object.create(null), { toString() { throw 1 } }, Symbol('s'), undefined, null, 42n,
         error({ name: null }), error({ name: 42 }), error({ name: Symbol('n') }), error({ stack: null }),
         error({ message: Symbol('m') }), error({ message: null }), error({ name: 'Refusal', message: {} }),
         new Proxy(new Error('no'), { get() { throw new Error('trap') } }),
         Object.defineProperty(new Error('no'), 'name', { get() { throw new Error('getter') } }),
       ]
       export const on_after_login = (user, { requestId }) => { throw thrown[requestId] }
       export const on_after_register = () => new Promise((done) => setTimeout(done, 500))`,
    )
    const beside = module.call(aCall('on_after_register'), 5)
    for (let one = 0; one < 15; one += 1) {
      const call = aCall('on_after_login')
      const failed = await failureOf(module.call({ ...call, context: { ...call.context, requestId: `${one}` } }, 5))
      expect(failed.name, `${one}`).not.to.equal('HandlerThreadEnded')
    }
    await beside
    expect(warnings).to.deep.equal([])
  })

  it('runs several calls at a time', async () => {
    const { module } = await started(
      `let arrived = 0, open
       const all = new Promise((resolve) => { open = resolve })
       export async function on_after_register() { if (++arrived === 8) open(); await all }`,
    )
    await Promise.all(Array.from({ length: 8 }, () => module.call(aCall('on_after_register'), 5)))
  })

  it('ends a handler that hangs past its time-out, and goes on', async () => {
    const { module, warnings } = await started(
      `export const on_after_register = () => new Promise(() => {})
       export function on_after_login() {}`,
    )
    const failure = await failureOf(module.call(aCall('on_after_register'), 1))
    expect(failure).to.include({ name: 'HandlerTimedOut', message: 'on_after_register did not end within 1 s' })
    await module.call(aCall('on_after_login'), 5)
    expect(warnings).to.have.length(1)
  })

  it('ends a handler that loops for ever, runs the calls behind it in another thread, and blocks nothing else', async () => {
    const { module, notes } = await started(
      `export function on_after_register() { note('loops'); for (;;); }
       export function on_after_login() { note('login') }`,
    )
    let beats = 0
    const beat = setInterval(() => beats++, 5)
    const looping = failureOf(module.call(aCall('on_after_register'), 1))
    const behind = Array.from({ length: 5 }, () => module.call(aCall('on_after_login'), 5))
    expect((await looping).name).to.equal('HandlerTimedOut')
    await Promise.all(behind)
    clearInterval(beat)
    expect(beats).to.be.above(5)
    expect(notes()).to.deep.equal(['loops', 'login', 'login', 'login', 'login', 'login'])
  })

  it('survives a handler that exits: calls that had begun fail, the next ones succeed', async () => {
    const { module, warnings } = await started(
      `export const on_after_verify = () => new Promise(() => {})
       export function on_after_register() { process.exit(3) }
       export function on_after_login() {}`,
    )
    const begun = failureOf(module.call(aCall('on_after_verify'), 10))
    const exiting = failureOf(module.call(aCall('on_after_register'), 10))
    expect([(await begun).name, (await exiting).name]).to.deep.equal(['HandlerThreadEnded', 'HandlerThreadEnded'])
    expect(warnings).to.deep.equal([
      { error: null, where: null, code: 3, message: 'the handler thread ended and is started again' },
    ])
    await module.call(aCall('on_after_login'), 5)
  })

  for (const [title, statement, name] of [
    ['an exception', "setTimeout(() => { throw new RangeError('mail to a@example.org') })", 'RangeError'],
    ['a rejection', "void Promise.reject(new SyntaxError('mail to a@example.org'))", 'SyntaxError'],
  ] as const) {
    it(`survives ${title} that nothing catches after the handler ended, and logs it without its message`, async () => {
      const { module, warnings, printed } = await started(
        `export function on_after_register() { ${statement} }
         export function on_after_login() {}`,
      )
      await module.call(aCall('on_after_register'), 5)
      const warning = await eventually('a warning', () => warnings[0])
      expect(warning).to.include({ error: name, code: 1 })
      expect(JSON.stringify(warnings) + printed()).not.to.include('example.org')
      await module.call(aCall('on_after_login'), 5)
    })
  }

  it('ends a thread that is stuck after its call has ended, and does not begin the waiting calls in it', async () => {
    const { module, notes } = await started(
      `export function on_after_register() { setTimeout(() => { note('stuck'); for (;;); }) }
       export function on_after_login() {}`,
    )
    await module.call(aCall('on_after_register'), 5)
    await eventually('the thread to be stuck', () => notes().length === 1)
    expect(await faultOf(module.call(aCall('on_after_login'), 0.2))).to.be.instanceOf(Unavailable)
    await module.call(aCall('on_after_login'), 5)
  })

  it('restarts the thread with growing pauses while it keeps ending', async () => {
    const { module } = await started('export function on_after_register() { process.exit() }')
    const exit = () => failureOf(module.call(aCall('on_after_register'), 10))
    await exit()
    for (const pause of [100, 200, 400]) {
      const start = performance.now()
      await exit()
      expect(performance.now() - start).to.be.at.least(pause)
    }
  })

  it('retries when the module cannot be loaded after the thread has ended', async () => {
    const { module, rewrite, warnings } = await started('export function on_after_register() { process.exit() }')
    rewrite('throw new Error()')
    await failureOf(module.call(aCall('on_after_register'), 5))
    await eventually('a second warning', () => warnings.length === 2)
    rewrite('export function on_after_register() {}')
    await module.call(aCall('on_after_register'), 5)
  })

  it('lets on_before_delete refuse with a reason', async () => {
    const { module } = await started(
      `const refusals = {
         reason: () => { throw { reason: 'has open invoices' } },
         error: () => { throw Object.assign(new Error('no'), { reason: 'is on holiday' }) },
         named: () => { throw Object.assign(new Error('is the owner'), { name: 'Refusal' }) },
         fault: () => { throw new Error('no database') },
       }
       export async function on_before_delete(user, { requestId }) { refusals[requestId]?.() }
       export function on_after_delete() { refusals.reason() }`,
    )
    const asked = (requestId: string) => {
      const call = aCall('on_before_delete')
      return faultOf(module.call({ ...call, context: { ...call.context, requestId } }, 2))
    }
    for (const [requestId, reason] of [
      ['reason', 'has open invoices'],
      ['error', 'is on holiday'],
      ['named', 'is the owner'],
    ] as const) {
      const refusal = await asked(requestId)
      expect(refusal).to.be.instanceOf(Refusal).and.to.include({ code: 'DELETE_USER_REFUSED', reason })
    }
    expect(await asked('fault')).to.be.instanceOf(HandlerFailed)
    expect(await asked('nothing')).to.equal(null)
    expect(await faultOf(module.call(aCall('on_after_delete'), 2))).to.be.instanceOf(HandlerFailed)
  })

  it('lets validate_password refuse with a reason that it returns or throws', async () => {
    const { module, notes } = await started(
      `export function validate_password(password, { email }, { requestId }) {
         note({ password, email, requestId })
         if (password === 'thrown') throw { reason: 'is too old' }
         if (password === 'returned') return 'is too old'
       }`,
    )
    const asked = (password: string) => faultOf(module.call(aCall('validate_password', { password }), 2))
    for (const password of ['thrown', 'returned']) {
      expect(await asked(password))
        .to.be.instanceOf(Refusal)
        .and.to.include({ reason: 'is too old' })
    }
    expect(await asked('fine')).to.equal(null)
    expect(notes().at(-1)).to.include({ password: 'fine', requestId: 'request-1' })
  })

  it('sends the output of handlers to the given stream', async () => {
    const { module, printed } = await started(
      `export function on_after_register() { console.log('to output'); console.error('to error') }`,
    )
    await module.call(aCall('on_after_register'), 5)
    await eventually('both lines', () => printed().includes('to output\n') && printed().includes('to error\n'))
  })

  it('rejects running, waiting and later calls when it is closed', async () => {
    const { module } = await started('export const on_after_register = () => new Promise(() => {})')
    const running = faultOf(module.call(aCall('on_after_register'), 10))
    await module.close()
    expect(await running).to.be.instanceOf(Unavailable)
    expect(await faultOf(module.call(aCall('on_after_register'), 10))).to.be.instanceOf(Unavailable)
  })
})
