import { expect } from 'chai'
import fc from 'fast-check'
import { offsetOfFault, parseJson } from '../../src/adapters/http/body/json.ts'

describe('parsing JSON', () => {
  const bad: [text: string, offset: number][] = [
    ['', 0],
    ['{"a":x}', 5],
    ['{"a":1,}', 7],
    ['[1 2]', 3],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['{a: 1}', 1],
    ['{\n  "a": 1\n  "b": 2\n}', 13],
    ['{"a": 01}', 7],
    ['{"a": "b', 8],
    ['{"a": "b\nc"}', 8],
    ['"\\x"', 1],
    ['{"a": 1}}', 8],
    ['{"a": [1, 2}', 11],
    ["{'a': 1}", 1],
    ['// why\n{}', 0],
    ['{"a": tru}', 6],
    ['{"a": 1', 7],
  ]
  for (const [text, offset] of bad) {
    it(`finds the fault in ${JSON.stringify(text)}`, () => {
      expect(parseJson(text)).to.deep.equal({ offset })
    })
  }

  it('takes what JSON.parse takes', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).to.deep.equal({ value: JSON.parse(text) })
        expect(offsetOfFault(text)).to.equal(text.length)
      }),
    )
  })

  it('finds a letter that belongs nowhere, wherever it stands', () => {
    const { lists } = fc.letrec((tie) => ({
      lists: fc.array(fc.oneof({ maxDepth: 4 }, fc.nat(), tie('lists'))),
    }))
    fc.assert(
      fc.property(lists, fc.nat(), (value, seed) => {
        const text = JSON.stringify(value, null, seed % 3)
        const at = seed % (text.length + 1)
        expect(offsetOfFault(`${text.slice(0, at)}@${text.slice(at)}`)).to.equal(at)
      }),
    )
  })
})
