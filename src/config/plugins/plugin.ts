import type { Static, TObject, TProperties } from 'typebox'

/** An option of a part that does not go with its other options. */
export interface Objection {
  readonly option: string
  readonly message: string
}

/** A transport or a strategy as the settings know it: a kind, and the options of that kind. */
export interface OptionsPart {
  readonly kind: string
  readonly options: TProperties
  /** Judges options that are right each by itself. */
  objections?(options: unknown): Objection[]
}

/** What the part of this kind objects to in options that its schema has accepted one by one. */
export function objectionsTo(parts: readonly OptionsPart[], options: { readonly kind: string }): readonly Objection[] {
  return parts.find(({ kind }) => kind === options.kind)?.objections?.(options) ?? []
}

/** `{ kind, …options }` of one part, e.g. `{ kind: 'jwt', audience, lifetimeSeconds }`. */
export type OptionsOf<Part> = Part extends { kind: infer Kind; options: infer Options extends TProperties }
  ? { readonly kind: Kind } & Readonly<Static<TObject<Options>>>
  : never

/** Keeps the literal kind of a part, and types its functions by its options. */
export function part<const Kind extends string, Options extends TProperties, Needs, Built>(given: {
  kind: Kind
  options: Options
  objections?(options: Static<TObject<Options>>): Objection[]
  build(options: Static<TObject<Options>>, needs: Needs): Built
}) {
  return given
}

/** Builds what settings ask for, by the part of their kind. */
export function build<Needs, Built>(
  parts: readonly { readonly kind: string; build(options: never, needs: Needs): Built }[],
  { kind, ...options }: { readonly kind: string },
  needs: Needs,
): Built {
  const found = parts.find((part) => part.kind === kind)
  if (found === undefined) throw new Error(`nothing is registered for the kind ${kind}`)
  return found.build(options as never, needs) // safe: this part's schema has judged these options
}
