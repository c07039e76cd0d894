import { expect } from 'chai'
import { environmentOf, startCommand, workingCopy } from '../support/process/commands.ts'
import { blocksOf, patternOf, projectFile, theBlock, tourOf } from '../support/project/readme-blocks.ts'
import { goThrough } from '../support/project/readme-tour.ts'
import { freePort } from '../support/servers/ports.ts'

const blocks = blocksOf(projectFile('examples/koa-service/README.md'))
const steps = tourOf(blocks)

describe('examples/koa-service', () => {
  it('works as its README shows, and stops in order', async () => {
    const port = await freePort()
    const here = (text: string): string => text.replaceAll('localhost:3000', `localhost:${port}`)
    const env = environmentOf({ PORT: `${port}` })
    const folder = workingCopy()

    const app = startCommand(['bash', '-c', theBlock(blocks, 'bash', 'start')], folder, env)
    try {
      await app.says(patternOf(here(theBlock(blocks, 'text', 'start'))))
      expect(steps).to.have.length(3)
      await goThrough(
        steps.map((step) => ({ ...step, lines: here(step.lines) })),
        folder,
        env,
      )
      const broken = await fetch(`http://localhost:${port}/orders`, {
        headers: { 'X-Request-Id': 'a-refusal-of-ours' },
      })
      expect([broken.status, broken.headers.get('X-Request-Id')]).to.deep.equal([401, 'a-refusal-of-ours'])
    } finally {
      app.killGroup('SIGINT')
    }
    await app.ended
    expect(app.output.error).to.not.match(/"level":(50|60)|Error/)
  })
})
