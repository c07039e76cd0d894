import { expect } from 'chai'
import { misnamedHandlers } from '../../../src/adapters/events/handler-names.ts'
import { environmentOf, startCommand } from '../../support/commands.ts'
import { projectRoot } from '../../support/readme-blocks.ts'

const program = `
import { openPortcullis } from './src/index.ts'
const portcullis = await openPortcullis(
  { stores: { users: { kind: 'memory' } } },
  { handlers: { onAfterRegister() {}, on_after_login() {}, on_after_verify: undefined }, delivers: false },
)
await portcullis.close()
`

describe('names of handlers', function () {
  this.timeout(20_000)

  it('that do not exist but look like handlers are found, also among the methods of a class', () => {
    class Mail {
      on_after_register() {}
      onAfterLogin() {}
    }
    class Ours extends Mail {
      readonly once = 1
      on_after_registration() {}
    }
    expect(misnamedHandlers(new Ours())).to.have.members(['on_after_registration', 'onAfterLogin'])
    expect(misnamedHandlers({ on_before_delete() {}, one: 1 })).to.deep.equal([])
  })

  it('whose value is no function are found', () => {
    const handlers = { on_after_login: undefined, on_after_delete: null, on_after_update: 3, on_before_delete() {} }
    expect(misnamedHandlers(handlers)).to.deep.equal(['on_after_login', 'on_after_delete', 'on_after_update'])
  })

  it('that are wrong cause a warning in an embedding program', async () => {
    const command = [process.execPath, '--input-type=module', '-e', program]
    const { ended, output } = startCommand(command, projectRoot, environmentOf({}))
    expect(await ended, output.error).to.equal(0)
    const lines = output.error
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ handler }) => handler).filter((one) => one !== undefined)).to.deep.equal([
      'onAfterRegister',
      'on_after_verify',
    ])
  })
})
