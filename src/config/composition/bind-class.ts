import type { Container, ResolutionContext } from 'inversify'
import type { Token } from './tokens.ts'

/** What stands for a `T` in the container: a token, or the class itself. */
type Name<T> = Token<T> | (new (needs: never) => T)

type RequiredKeys<T> = { [K in keyof T]-?: undefined extends T[K] ? never : K }[keyof T]

/** Binds a class under itself; each of its needs is named, and each name is checked at compile time. Answers the class. */
export function bindClass<Needs extends object, T>(
  container: Container,
  type: new (needs: Needs) => T,
  names: { readonly [K in RequiredKeys<Needs>]: Name<Needs[K]> },
): new (
  needs: Needs,
) => T {
  const make = (context: ResolutionContext): T => {
    // Safe: the compiler has checked that `names` holds a name for each need, and of its very type.
    const entries = Object.entries(names as Record<string, Name<unknown>>)
    return new type(Object.fromEntries(entries.map(([need, name]) => [need, context.get(name)])) as Needs)
  }
  container.bind(type).toDynamicValue(make).inSingletonScope()
  return type
}
