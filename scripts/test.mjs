// npm test: installs and builds what is missing, then runs the tests. The last line counts them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, install, requireNode, root } from './prepare.mjs'

requireNode()
install()
await build()
const mocha = join(root, 'node_modules', 'mocha', 'bin', 'mocha.js')
const given = process.argv.slice(2)
const what = given.length > 0 ? given : ['test/**/*.test.ts']
const { status, signal } = spawnSync(process.execPath, [mocha, ...what], { cwd: root, stdio: 'inherit' })
if (signal !== null) console.error(`the test run was ended by ${signal}`)
process.exit(status ?? 1)
