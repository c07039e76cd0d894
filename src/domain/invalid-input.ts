/** A value of the wrong form: a mistake of the calling program. It is thrown before anything is looked up or written. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  /** The field of the input, e.g. `email`. */
  readonly field: string

  /** @param problem never repeats the value, which may be a password */
  constructor(field: string, problem: string) {
    super(`${field} ${problem}`)
    this.field = field
  }
}
