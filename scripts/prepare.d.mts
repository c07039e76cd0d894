/** Bundles the executable and the public entries into dist/, unless they are up to date. */
export function build(): Promise<void>
