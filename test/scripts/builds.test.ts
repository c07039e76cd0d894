import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { keepTwoBuilds } from '../../scripts/prepare.mjs'
import { scratchFolder } from '../support/services/spawned-service.ts'

describe('a build', () => {
  it('keeps the chunks of the build before it, which a running process may load, and no older ones', () => {
    const folder = scratchFolder()
    const filesAfter = (...outputs: string[]): string[] => {
      for (const name of outputs) writeFileSync(join(folder, name), '')
      keepTwoBuilds(folder, outputs)
      return readdirSync(folder).filter((name) => name.endsWith('.js'))
    }
    filesAfter('main.js', 'chunk-1.js')
    expect(filesAfter('main.js', 'chunk-2.js')).to.have.members(['main.js', 'chunk-1.js', 'chunk-2.js'])
    expect(filesAfter('main.js', 'chunk-3.js')).to.have.members(['main.js', 'chunk-2.js', 'chunk-3.js'])
  })
})
