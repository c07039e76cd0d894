/** Bundles the executable and the public entries into dist/, unless they are up to date. */
export function build(): Promise<void>

/** Removes the outputs that are neither of this build nor of the build before it. */
export function keepTwoBuilds(folder: string, current: readonly string[]): void
