import { expect } from 'chai'
import fc from 'fast-check'
import { offsetOfFault, parseJson } from '../../src/config/json-text.ts'

describe('parsing JSON', () => {
  const bad: [text: string, line: number, column: number][] = [
    ['', 1, 1],
    ['{"a":x}', 1, 6],
    ['{"a":1,}', 1, 8],
    ['[1 2]', 1, 4],
    ['[1,]', 1, 4],
    ['{"a" 1}', 1, 6],
    ['{a: 1}', 1, 2],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ['{"a": 01}', 1, 8],
    ['{"a": "b', 1, 9],
    ['{"a": "b\nc"}', 1, 9],
    ['"\\x"', 1, 2],
    ['{"a": 1}}', 1, 9],
    ['{"a": [1, 2}', 1, 12],
    ["{'a': 1}", 1, 2],
    ['// why\n{}', 1, 1],
    ['{"a": tru}', 1, 7],
    ['{"a": 1', 1, 8],
  ]
  for (const [text, line, column] of bad) {
    it(`finds the fault in ${JSON.stringify(text)}`, () => {
      expect(parseJson(text)).to.deep.equal({ line, column })
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
