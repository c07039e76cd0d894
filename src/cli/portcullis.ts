#!/usr/bin/env node
import { main } from './main.ts'

process.setSourceMapsEnabled(true) // frames in the log name lines of the source
process.exit(await main(process.argv))
