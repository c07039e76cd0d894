import { expect } from 'chai'
import { titleOf } from '../../../src/config/plugins/providers.ts'

describe('the name of a provider for people', () => {
  it('is the title of the preset, or the name with a capital letter', () => {
    const names = ['github', 'gitlab', 'linkedin', 'franceconnect', 'google', 'acme']
    const titles = ['GitHub', 'GitLab', 'LinkedIn', 'FranceConnect', 'Google', 'Acme']
    expect(names.map(titleOf)).to.deep.equal(titles)
  })
})
