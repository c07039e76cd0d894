#!/usr/bin/env node
// npm links a command to a file that is there: to one of dist/, which is built later, npx would make no link, and never
// look again.
import { existsSync } from 'node:fs'

const built = new URL('../dist/portcullis.js', import.meta.url)
if (existsSync(built)) {
  await import(built)
} else {
  console.error('portcullis: not built yet; npm start does that, and so does npm run build')
  process.exitCode = 1
}
