import type { Static, TObject, TProperties } from 'typebox'

/** An option that conflicts with other options. */
export interface Objection {
  readonly option: string
  readonly message: string
}

/** A transport, strategy or provider in the settings: a kind with its options. */
export interface OptionsPart {
  readonly kind: string
  readonly options: TProperties
  /** Finds conflicts between options that match the schema. */
  objections?(options: unknown): Objection[]
}

/** Finds conflicts between the options of a part. */
export function objectionsTo(parts: readonly OptionsPart[], options: { readonly kind: string }): readonly Objection[] {
  return parts.find(({ kind }) => kind === options.kind)?.objections?.(options) ?? []
}

/** `{ kind, …options }` of one part, e.g. `{ kind: 'jwt', audience, lifetimeSeconds }`. */
export type OptionsOf<Part> = Part extends { kind: infer Kind; options: infer Options extends TProperties }
  ? { readonly kind: Kind } & Readonly<Static<TObject<Options>>>
  : never

/** Types a part by its kind and its options. */
export function part<const Kind extends string, Options extends TProperties, Needs, Built>(given: {
  kind: Kind
  options: Options
  objections?(options: Static<TObject<Options>>): Objection[]
  build(options: Static<TObject<Options>>, needs: Needs): Built
}) {
  return given
}

/** Builds the part of this kind with these options. */
export function build<Needs, Built>(
  parts: readonly { readonly kind: string; build(options: never, needs: Needs): Built }[],
  { kind, ...options }: { readonly kind: string },
  needs: Needs,
): Built {
  const found = parts.find((part) => part.kind === kind)
  if (found === undefined) throw new Error(`nothing is registered for the kind ${kind}`)
  return found.build(options as never, needs) // safe: the options match the schema of this part
}
