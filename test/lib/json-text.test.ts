import { expect } from 'chai'
import { parseJson, repeatedMembers } from '../../src/lib/json-text.ts'

describe('JSON text', () => {
  for (const [text, offset] of [
    ['', 0],
    ['{"a": 1', 7],
    ['{\n  "a": 1\n  "b": 2\n}', 13],
    ['{"a":x}', null],
    ['"at position 5"x', 15],
    ['x"at position 5"', null],
  ] as const) {
    it(`reports the position of the fault in ${JSON.stringify(text)} if V8 reports it`, () => {
      expect(parseJson(text)).to.deep.equal({ offset })
    })
  }

  it('reports members that an object has more than once', () => {
    expect(repeatedMembers('{"a":1,"b":{"c":1,"\\u0063":2},"d":[{"e":1,"e":2}],"a":{"a":"a\\":\\""}}')).to.deep.equal([
      ['b', 'c'],
      ['d', '', 'e'],
      ['a'],
    ])
    expect(repeatedMembers('{"a":{"a":"a"},"b":["a","a"],"c":"a"}')).to.deep.equal([])
  })
})
