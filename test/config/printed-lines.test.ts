import { expect } from 'chai'
import { linePrinter } from '../../src/adapters/logging/printed-lines.ts'

/** Standard output that takes so many bytes at a time, or none for the reason of this code. */
function aReader(patienceMilliseconds?: number) {
  const all = Number.POSITIVE_INFINITY
  const reader = { takes: all as number | string, stopsAfter: all, stopsWith: 'EAGAIN', text: '' }
  const print = linePrinter((bytes) => {
    if (typeof reader.takes === 'string') throw Object.assign(new Error('no'), { code: reader.takes })
    const taken = bytes.subarray(0, reader.takes)
    reader.text += taken.toString()
    reader.stopsAfter--
    if (reader.stopsAfter === 0) reader.takes = reader.stopsWith
    return taken.length
  }, patienceMilliseconds)
  return { reader, print }
}

const nameOf = (printing: Promise<void>): Promise<string> =>
  printing.then(
    () => 'printed',
    (fault: Error) => fault.name,
  )

describe('a line that is printed', () => {
  it('is out at once where somebody reads', async () => {
    const { reader, print } = aReader()
    const printing = print('one\n')
    expect(reader.text).to.equal('one\n')
    await printing
  })

  it('waits for a slow reader, whole and behind those before it, and is done when it was taken', async () => {
    const { reader, print } = aReader()
    reader.takes = 'EAGAIN'
    let isDone = false
    const one = print('one\n').then(() => {
      isDone = true
    })
    const two = print('two\n')
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect([reader.text, isDone]).to.deep.equal(['', false])
    reader.takes = 3
    await Promise.all([one, two])
    expect(reader.text).to.equal('one\ntwo\n')
  })

  it('fails where it cannot be written, and the next one begins on a line of its own', async () => {
    const { reader, print } = aReader()
    reader.takes = 'EPIPE'
    expect(await nameOf(print('none\n'))).to.equal('NotPrinted')
    reader.takes = 2
    reader.stopsAfter = 1
    reader.stopsWith = 'ENOSPC'
    expect(await nameOf(print('torn\n'))).to.equal('NotPrinted')
    reader.takes = 2
    await print('whole\n')
    expect(reader.text).to.equal('to\nwhole\n')
  })

  it('fails in the end when nobody reads, and is not printed later unless it was begun', async () => {
    const { reader, print } = aReader(100)
    reader.takes = 2
    reader.stopsAfter = 1
    const began = performance.now()
    const outcomes = await Promise.all([print('begun\n'), print('never\n')].map(nameOf))
    expect(performance.now() - began).to.be.at.least(90)
    expect(outcomes).to.deep.equal(['NotPrinted', 'NotPrinted'])
    reader.takes = Number.POSITIVE_INFINITY
    await print('later\n')
    expect(reader.text).to.equal('begun\nlater\n')
  })
})
