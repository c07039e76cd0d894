/** The error with which `work` ends; `null` when it succeeds. */
export function faultOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (fault: unknown) => fault,
  )
}
