import { expect } from 'chai'
import { memoryTenantTexts } from '../../src/adapters/stores/memory/tenant-texts.ts'
import { checkText, replaceText } from '../../src/application/tenant-texts.ts'

describe('the named texts of a tenant', () => {
  it('keep the text of exactly one of many concurrent first starts, and compare later ones with it', async () => {
    const texts = memoryTenantTexts()
    const marks = Array.from({ length: 16 }, (_, at) => (at < 8 ? 'mark' : 'another'))
    const outcomes = await Promise.all(marks.map((mark) => checkText(texts, 'secret', mark)))
    const winner = marks[outcomes.indexOf('first')]
    expect(outcomes.filter((outcome) => outcome === 'first')).to.have.length(1)
    expect(outcomes.map((outcome) => outcome === 'other')).to.deep.equal(marks.map((mark) => mark !== winner))
    expect(await texts.read('secret')).to.equal(winner)
  })

  it('are replaced one by one, whether or not there is one', async () => {
    const texts = memoryTenantTexts()
    for (const mark of ['mark', 'another']) {
      await replaceText(texts, 'secret', mark)
      expect(await checkText(texts, 'secret', mark)).to.equal('same')
      expect(await checkText(texts, 'secret', 'third')).to.equal('other')
    }
    expect(await checkText(texts, 'field:handle', 'third')).to.equal('first')
  })
})
