import { type Deployment, needsDeployment } from './deployments.ts'

interface Case {
  readonly title: string
  /** Without it the case is skipped or fails, as test/support/deployments.ts says. */
  readonly needs?: Deployment
  run(): Promise<void>
}

/** Cases that mostly wait, for leases and grace periods to pass: all are begun before the first test of the suite. */
export function together(cases: readonly Case[]): void {
  const faults = new Map<Case, Promise<unknown>>()

  before(async () => {
    for (const one of cases) {
      if (one.needs && (await one.needs.obstacle()) !== null) continue
      const fault = one.run().then(
        () => null,
        (thrown: unknown) => thrown ?? new Error('failed'),
      )
      faults.set(one, fault)
    }
  })

  for (const one of cases) {
    it(one.title, async function () {
      if (one.needs) await needsDeployment(this, one.needs)
      const fault = await faults.get(one)
      if (fault !== null) throw fault
    })
  }
}
