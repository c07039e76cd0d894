import { expect } from 'chai'
import { startCommand } from '../process/commands.ts'
import { patternOf, type Step } from './readme-blocks.ts'

const end = '-- end of a step --'

/** Runs these steps in one bash, and compares the output of each with the page. */
export async function goThrough(steps: readonly Step[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const script = steps.map(({ lines }) => `${lines}printf -- '${end}\\n'\n`)
  const tour = startCommand(['bash', '-euo', 'pipefail', '-c', `exec 2>&1\n${script.join('')}`], cwd, env)
  expect(await tour.ended, tour.output.standard).to.equal(0)

  // npm may warn of settings of this machine.
  const printed = tour.output.standard.replace(/^npm warn .*\n/gm, '').split(`${end}\n`)
  expect(printed).to.have.lengthOf(steps.length + 1)
  for (const [at, step] of steps.entries()) {
    expect(printed[at], step.lines).to.match(new RegExp(`^${patternOf(step.printed).source}$`))
  }
}
