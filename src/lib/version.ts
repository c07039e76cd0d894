import { createRequire } from 'node:module'

/** Of this package. Source and bundle both lie two folders or one below `package.json`. */
const up = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json'
// Safe: it is our own package.json.
export const { version } = createRequire(import.meta.url)(up) as { version: string }
