import { type Deployment, needsDeployment } from './deployments.ts'

interface Case {
  readonly title: string
  /** Without it the case is skipped or fails, as test/support/deployments.ts says. */
  readonly needs?: Deployment
  run(): Promise<void>
}

/**
 * Cases that mostly wait, for leases and grace periods to pass: all are begun before the first test of the suite, or so
 * many `atOnce` where they also start processes, which others on this machine are not to wait for.
 */
export function together(cases: readonly Case[], atOnce = cases.length): void {
  const faults = new Map<Case, Promise<unknown>>()

  before(async () => {
    for (const [at, one] of cases.entries()) {
      if (one.needs && (await one.needs.obstacle()) !== null) continue
      const former = cases[at - atOnce]
      const fault = Promise.resolve(former && faults.get(former))
        .then(() => one.run())
        .then(
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
