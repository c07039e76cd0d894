// npm start: installs and builds missing parts, then serves in this process, so that signals reach it.
import { build, install, requireNode } from './prepare.mjs'

requireNode()
install()
await build()
process.setSourceMapsEnabled(true) // as in src/cli/portcullis.ts
process.on('SIGHUP', () => {}) // the service handles it before it reads the settings
const { main } = await import(new URL('../dist/main.js', import.meta.url))
process.exit(await main([...process.argv.slice(0, 2), 'serve', ...process.argv.slice(2)]))
