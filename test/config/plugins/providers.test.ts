import { expect } from 'chai'
import { marks } from '../../../src/adapters/oauth/marks.ts'
import { providers, titleOf } from '../../../src/config/plugins/providers.ts'

describe('the name of a provider for people', () => {
  it('is the title of the preset, or the name with a capital letter', () => {
    const names = ['github', 'gitlab', 'linkedin', 'franceconnect', 'google', 'acme']
    const titles = ['GitHub', 'GitLab', 'LinkedIn', 'FranceConnect', 'Google', 'Acme']
    expect(names.map(titleOf)).to.deep.equal(titles)
  })
})

describe('the icon of a provider', () => {
  it('is there for each preset', () => {
    const presets = providers.map(({ kind }) => kind).filter((kind) => kind !== 'oauth2' && kind !== 'openid-connect')
    expect(Object.keys(marks)).to.deep.equal(presets)
  })
})
