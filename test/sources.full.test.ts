import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { sourceFiles } from './support/project/imports.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

function run(script: string, ...args: readonly string[]): { status: number | null; output: string } {
  const words = ['run', '--silent', script, '--', ...args]
  const { status, stdout, stderr } = spawnSync('npm', words, { cwd: root, encoding: 'utf8', timeout: 400_000 })
  return { status, output: `${stdout}${stderr}` }
}

describe('the sources', function () {
  this.timeout(420_000) // the compiler alone takes a minute on a busy machine
  it('type-check', () => {
    // Alone it would be quicker in several threads, but they take twice the processor time, which other tests want.
    const { status, output } = run('types', '--singleThreaded')
    expect(status, output).to.equal(0)
  })

  it('are formatted and have no lint', () => {
    const { status, output } = run('lint')
    expect(status, output).to.equal(0)
  })

  it('contain no comment that disables the type check or a lint rule', () => {
    const offenders = sourceFiles().filter(({ text }) =>
      /@ts-ignore|@ts-expect-error|biome-ignore|: any\b(?! \w)/.test(text),
    )
    expect(offenders.map(({ file }) => file)).to.deep.equal([])
  })

  it('have a lock file without addresses of registries', () => {
    expect(readFileSync(`${root}/package-lock.json`, 'utf8')).to.not.include('"resolved":')
  })
})
