import type { Static, TObject, TProperties } from 'typebox'

/** A transport, strategy or provider in the settings: a kind with its options. */
export interface OptionsPart {
  readonly kind: string
  readonly options: TProperties
}

/** `{ kind, …options }` of one part, e.g. `{ kind: 'jwt', audience, lifetimeSeconds }`. */
export type OptionsOf<Part> = Part extends { kind: infer Kind; options: infer Options extends TProperties }
  ? { readonly kind: Kind } & Readonly<Static<TObject<Options>>>
  : never

/** Types a part by its kind and its options. */
export function part<const Kind extends string, Options extends TProperties, Needs, Built>(given: {
  kind: Kind
  options: Options
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
