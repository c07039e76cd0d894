import { expect } from 'chai'
import { startCommand } from './commands.ts'
import { patternOf, type Step } from './readme-blocks.ts'

const end = '-- end of a step --'

/** Types these steps into one bash, and compares what it prints after each with what the reader is told. */
export async function goThrough(steps: readonly Step[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const script = steps.map(({ lines }) => `${lines}printf -- '${end}\\n'\n`)
  const tour = startCommand(['bash', '-euo', 'pipefail', '-c', `exec 2>&1\n${script.join('')}`], cwd, env)
  expect(await tour.ended, tour.output.standard).to.equal(0)

  // What npm says of its own settings where the tests run is not the project's.
  const printed = tour.output.standard.replace(/^npm warn .*\n/gm, '').split(`${end}\n`)
  expect(printed).to.have.lengthOf(steps.length + 1)
  for (const [at, step] of steps.entries()) {
    expect(printed[at], step.lines).to.match(new RegExp(`^${patternOf(step.printed).source}$`))
  }
}
