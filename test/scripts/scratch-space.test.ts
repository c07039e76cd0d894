import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { scratchSpace } from '../../scripts/scratch-space.mjs'

describe('the folder that tests write to', () => {
  const memory = mkdtempSync(join(tmpdir(), 'portcullis-memory-'))
  const wanted = { memory, bytes: 1, given: null }
  after(() => rmSync(memory, { recursive: true }))

  it('is in memory where there is room, runs programs, and can be looked into', () => {
    const { path, remove } = scratchSpace(wanted)
    expect(dirname(path)).to.equal(memory)
    expect(readdirSync(path)).to.deep.equal([])
    expect(statSync(path).mode & 0o777).to.equal(0o755)
    writeFileSync(join(path, 'program'), '#!/bin/sh\necho ran', { mode: 0o700 })
    expect(execFileSync(join(path, 'program')).toString()).to.equal('ran\n')
    remove()
    expect(existsSync(path)).to.equal(false)
  })

  const elsewhere = {
    'there is no room': { bytes: Number.MAX_SAFE_INTEGER },
    'there is no such memory': { memory: join(memory, 'none') },
    'it cannot be written to': { memory: '/proc' },
    'TMPDIR says where to': { given: tmpdir() },
  }
  for (const [when, change] of Object.entries(elsewhere)) {
    it(`is where other temporary files are when ${when}`, () => {
      const { path, remove } = scratchSpace({ ...wanted, ...change })
      expect(dirname(path)).to.equal(tmpdir())
      expect(readdirSync(memory)).to.deep.equal([])
      remove()
      expect(existsSync(path)).to.equal(false)
    })
  }
})
