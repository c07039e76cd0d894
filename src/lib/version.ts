import { createRequire } from 'node:module'

/** `package.json` is two folders above the source, and one above the bundle. */
const up = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json'
// Safe: this is our own package.json.
export const { version } = createRequire(import.meta.url)(up) as { version: string }
