/** The public entries, by what follows the package's name in an import, each with the file of its declarations. */
export const entries: ReadonlyMap<string, string>
/** Emits them unless they are up to date. Throws what the compiler says of a declaration that an entry reaches. */
export function emitDeclarations(): void
