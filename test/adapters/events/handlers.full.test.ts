import { expect } from 'chai'
import { misnamedHandlers } from '../../../src/adapters/events/handlers.ts'
import { environmentOf, startCommand } from '../../support/process/commands.ts'
import { projectRoot } from '../../support/project/readme-blocks.ts'

const program = `
import { openPortcullis } from './src/index.ts'
const portcullis = await openPortcullis(
  { stores: { users: { kind: 'memory' } } },
  { handlers: { onAfterRegister() {}, on_after_login() {}, on_after_verify: undefined }, delivers: false },
)
await portcullis.close()
`

describe('names of handlers', () => {
  it('are reported if no handler has them or their value is no function, also in a class', () => {
    class Mail {
      on_after_register() {}
      onAfterLogin() {}
    }
    class Ours extends Mail {
      readonly once = 1
      readonly on_after_update = 3
      on_after_registration() {}
      on_before_delete() {}
    }
    const wrong = ['on_after_registration', 'onAfterLogin', 'on_after_update']
    expect(misnamedHandlers(new Ours())).to.have.members(wrong)
    expect(misnamedHandlers({ on_before_delete() {}, one: 1, on_after_delete: null })).to.deep.equal([
      'on_after_delete',
    ])
  })

  it('cause a warning in an embedding program when they are wrong', async () => {
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
