import { type Deployment, needsDeployment } from './services/deployments.ts'

interface Case {
  readonly title: string
  /** Skips or fails the case where the deployment cannot be had. */
  readonly needs?: Deployment
  run(): Promise<void>
}

/**
 * For cases that mostly wait, for leases and grace periods. All of them start before the first test of the suite, but only
 * `atOnce` of them run at the same time.
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
