import { expect } from 'chai'
import { explain } from '../../src/cli/explain.ts'
import { Unavailable } from '../../src/domain/refusal.ts'

describe('the message of a failed command', () => {
  const failed = (code: string, syscall: string, message = `${syscall} ${code}`) =>
    explain(Object.assign(new Error(message), { code, syscall })).text

  it('names the setting of an address or port that cannot be used', () => {
    expect(failed('EADDRINUSE', 'listen')).to.match(
      /^http\.port: another program.*; set another port by PORTCULLIS_HTTP__PORT \(/,
    )
    expect(failed('EACCES', 'listen')).to.match(/^http\.port: this user/)
    expect(failed('EADDRNOTAVAIL', 'listen')).to.match(/^http\.host: is no address of this machine/)
    expect(failed('ENOTFOUND', 'getaddrinfo')).to.match(/^http\.host: is neither an address nor a host name/)
  })

  it('names no setting for a file that cannot be opened', () => {
    expect(failed('EACCES', 'open', 'EACCES: permission denied')).to.equal('EACCES: permission denied')
  })

  it('names the store that does not answer, and the cause', () => {
    const { text, code } = explain(new Unavailable('MongoDB does not answer', { cause: new Error('timed out') }))
    expect([text, code]).to.deep.equal(['cannot be done now: MongoDB does not answer (timed out)', 1])
  })
})
