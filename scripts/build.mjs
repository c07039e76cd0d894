// npm run build
import { build, install, requireNode } from './prepare.mjs'

requireNode()
install()
await build()
