// npm start: installs and builds what is missing, then serves in this very process, so that signals reach it.
import { build, install, requireNode } from './prepare.mjs'

requireNode()
install()
await build()
process.setSourceMapsEnabled(true) // as in src/cli/portcullis.ts
process.on('SIGHUP', () => {}) // the service listens once it is loaded, and reads its settings after that
const { main } = await import(new URL('../dist/main.js', import.meta.url))
process.exit(await main([...process.argv.slice(0, 2), 'serve', ...process.argv.slice(2)]))
