import { expect } from 'chai'
import { newId } from '../../../src/adapters/crypto/new-id.ts'
import { passwordValidation } from '../../../src/application/accounts/password-validation.ts'
import { HandlerFailed } from '../../../src/application/ports/event-handlers.ts'
import { nobody } from '../../../src/domain/actor.ts'
import { Refusal, Unavailable } from '../../../src/domain/refusal.ts'
import { viewOf } from '../../../src/domain/user.ts'
import { aUser } from '../../../src/testing/builders.ts'
import { fixedClock } from '../../../src/testing/fixed-clock.ts'
import { faultOf } from '../../support/fault-of.ts'
import { hanging, recording } from '../../support/scenes/delivery.ts'

const choice = { password: 'the password', user: aUser(), code: 'REGISTER_INVALID_PASSWORD', by: nobody } as const
const request = { requestId: 'request-1', languages: ['de'] }
const validationBy = (eventHandlers: Parameters<typeof passwordValidation>[0]['eventHandlers']) =>
  passwordValidation({ eventHandlers, tenant: 'acme', clock: fixedClock(), newId })

describe('the validation of a chosen password', () => {
  it('asks with the password, the public part of the user and the request', async () => {
    const handlers = recording()
    await validationBy(handlers)(choice, request)
    const [{ type, password, user, context } = {}] = handlers.calls
    expect({ type, password, user }).to.deep.equal({
      type: 'password_chosen',
      password: choice.password,
      user: viewOf(choice.user),
    })
    expect(context).to.include({ requestId: 'request-1', by: nobody, tenant: 'acme' })
  })

  it('asks nobody without a handler', async () => {
    const handlers = recording(undefined, 'password_chosen')
    await validationBy(handlers)(choice, request)
    expect(handlers.calls).to.deep.equal([])
  })

  it('refuses with the code of the caller and the reason of the handler', async () => {
    const handlers = recording(() => Promise.reject(new Refusal('DELETE_USER_REFUSED', 'is in a breach')))
    const refusal = await faultOf(validationBy(handlers)(choice, request))
    expect(refusal).to.be.instanceOf(Refusal)
    expect(refusal).to.include({ code: 'REGISTER_INVALID_PASSWORD', reason: 'is in a breach', rule: 'custom' })
  })

  it('is unavailable when the handler fails', async () => {
    const handlers = recording(() => Promise.reject(new HandlerFailed('TypeError', 'the password')))
    expect(await faultOf(validationBy(handlers)(choice, request))).to.be.instanceOf(Unavailable)
  })

  it('asks about at most 16 passwords at once, and refuses more without waiting', async () => {
    const { handlers, finish } = hanging()
    const validate = validationBy(handlers)
    const asked = Array.from({ length: 16 }, () => validate(choice, request))
    expect(await faultOf(validate(choice, request))).to.be.instanceOf(Unavailable)
    expect(handlers.calls).to.have.length(16)
    finish(1)
    await asked[0]
    const next = validate(choice, request)
    finish()
    await Promise.all([...asked, next])
    expect(handlers.calls).to.have.length(17)
  })
})
