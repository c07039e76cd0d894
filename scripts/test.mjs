// npm test: installs and builds what is missing, then runs the tests. The last line counts them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, install, requireNode, root } from './prepare.mjs'

requireNode()
install()
await build()
const mocha = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js')
const { status, signal } = spawnSync(process.execPath, [mocha, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' })
if (signal !== null) console.error(`the test run was ended by ${signal}`)
process.exit(status ?? 1)
