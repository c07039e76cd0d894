import { expect } from 'chai'
import { configurationPage } from '../../scripts/configuration-page.ts'

describe('docs/configuration.md', () => {
  it('has one line for equal options of several kinds', () => {
    const rows = configurationPage().split('\n')
    const linesOf = (setting: string) => rows.filter((row) => row.startsWith(`| \`${setting}\` |`))
    expect(linesOf('providers.<name>.associateByEmail')).to.have.lengthOf(1)
    expect(linesOf('providers.<name>.associateByEmail')[0]).to.not.include('(')
    expect(linesOf('providers.<name>.clientSecret')).to.have.lengthOf(1)
    expect(linesOf('providers.<name>.clientSecret')[0]).to.include('(oauth2, openid-connect, ')
    expect(linesOf('backends.<name>.strategy.lifetimeSeconds').length).to.equal(2)
  })
})
