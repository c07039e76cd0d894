#!/usr/bin/env node
// npm links a command only if its file exists, and dist/ is built later.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

const built = new URL('../dist/portcullis.js', import.meta.url)
const launcher = new URL('../scripts/node', import.meta.url) // part of a clone only
if (Number.parseInt(process.versions.node, 10) < 22) {
  if (existsSync(launcher)) runWithNewerNode()
  else refuse(`Node 22 or later is needed; this is ${process.versions.node}`)
} else if (existsSync(built)) {
  await import(built)
} else {
  refuse('not built yet; npm start does that, and so does npm run build')
}

function refuse(reason) {
  console.error(`portcullis: ${reason}`)
  process.exitCode = 1
}

function runWithNewerNode() {
  const words = [fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const child = spawn(fileURLToPath(launcher), words, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => refuse(error.message))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}
