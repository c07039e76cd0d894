import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { expect } from 'chai'

const root = new URL('../../', import.meta.url)

interface Fault {
  readonly title: string
  readonly file: string
  readonly text: string
  readonly tests: readonly string[]
}

async function planted(): Promise<Fault[]> {
  const files = (await readdir(new URL('test/planted/', root))).filter((name) => name.endsWith('.mjs'))
  const lists = files.map(async (name): Promise<readonly Fault[]> => {
    // Safe: `npm run test:planted` takes every list for such faults, and stumbles over all others.
    const { default: faults } = (await import(new URL(`test/planted/${name}`, root).href)) as { default: Fault[] }
    return faults
  })
  return (await Promise.all(lists)).flat()
}

describe('the planted faults', () => {
  it('quote code that occurs exactly once in its file', async () => {
    const faults = await planted()
    const astray = await Promise.all(
      faults.map(async ({ title, file, text }) => {
        const source = await readFile(new URL(file, root), 'utf8')
        return source.split(text).length === 2 ? [] : [`${file}: ${title}`]
      }),
    )
    expect(faults).to.not.have.length(0)
    expect(astray.flat()).to.deep.equal([])
  })

  it('name existing tests', async () => {
    const files = new Set((await planted()).flatMap(({ tests }) => tests))
    const missing = [...files].filter((file) => !existsSync(new URL(file, root)))
    expect(missing).to.deep.equal([])
  })
})
