import { type Email, isEmail } from './email.ts'

/**
 * Input that no route lets through, because of its form alone: a mistake of the program that calls. It is told before
 * anything is looked up or written. Over HTTP the same is status 422.
 */
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

/**
 * Demands text: half a surrogate pair, which a string can hold and UTF-8 cannot, would be digested and stored as
 * U+FFFD, so that different texts would be the same one.
 */
export function demandText(field: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new InvalidInput(field, 'must be a string')
  if (!value.isWellFormed()) throw new InvalidInput(field, 'must be well-formed Unicode')
}

/** Demands an address as `parseEmail` spells it: another spelling of it is another one's look-alike in the store. */
export function demandEmail(field: string, value: unknown): asserts value is Email {
  if (!isEmail(value)) throw new InvalidInput(field, 'must be an address as parseEmail gives it')
}

/** Demands `true` or `false`, or nothing: `null` and `undefined` are both not given. */
export function demandFlag(field: string, value: unknown): asserts value is boolean | null | undefined {
  if (value !== undefined && value !== null && typeof value !== 'boolean') {
    throw new InvalidInput(field, 'must be true or false')
  }
}
