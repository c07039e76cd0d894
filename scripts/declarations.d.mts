/** The declarations of the public entries. The key follows the name of the package in an import. */
export const entries: ReadonlyMap<string, string>
/** Emits them unless they are up to date. Throws the compiler's errors about declarations that an entry reaches. */
export function emitDeclarations(): void
