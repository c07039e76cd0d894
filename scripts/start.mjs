// npm start: installs and builds missing parts, then serves in this process, so that signals reach it.
import { existsSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { build, install, requireNode, root } from './prepare.mjs'

process.env.UV_THREADPOOL_SIZE ??= `${Math.max(4, availableParallelism() + 2)}` // as in src/cli/portcullis.ts
requireNode()
install()
await build()
// For a first try, also when a settings file comes later: who has a factor by then could not log in without. The file may decide.
const file = process.env.PORTCULLIS_CONFIG || 'portcullis.config.json'
const decides = process.argv.length > 2 || (existsSync(file) && readFileSync(file, 'utf8').includes('"factors"'))
if (!decides) process.env.PORTCULLIS_ROUTERS__FACTORS__ENABLED ??= 'true'
enableCompileCache?.(join(root, 'dist', '.compile-cache')) // as in src/cli/portcullis.ts
process.on('SIGHUP', () => {}) // the service handles it before it reads the settings
const { main } = await import(new URL('../dist/main.js', import.meta.url))
process.exit(await main([...process.argv.slice(0, 2), 'serve', ...process.argv.slice(2)]))
