import { expect } from 'chai'
import { createLog } from '../../src/adapters/logging/log.ts'
import { Unavailable } from '../../src/domain/refusal.ts'

describe('a fault in the log', () => {
  function logged(err: unknown) {
    const lines: string[] = []
    createLog({ level: 'info' }, { write: (line) => void lines.push(line) }).error({ err }, 'it failed')
    return JSON.parse(lines[0] ?? '').err
  }

  it('has its frames and those of its causes', () => {
    const err = logged(new Error('outer', { cause: new TypeError('inner') }))
    expect(err).to.include({ type: 'Error', message: 'outer' })
    expect(err.stack[0]).to.match(/^at .*log\.test\.ts/)
    expect(err.cause.stack[0]).to.match(/^at .*log\.test\.ts/)
  })

  it('has none where something does not answer: of those there may be thousands a second', () => {
    const cause = Object.assign(new Error('refused by 10.0.0.1'), { code: 'ECONNREFUSED' })
    const err = logged(new Unavailable('the store', { cause }))
    expect(err).to.deep.equal({
      type: 'Unavailable',
      message: 'the store',
      cause: { type: 'Error', message: 'refused by 10.0.0.1', code: 'ECONNREFUSED' },
    })
  })
})
