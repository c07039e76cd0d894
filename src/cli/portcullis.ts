#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

// Compiled code, beside the built files: who can write them runs code anyway. Node goes on without a folder to write.
enableCompileCache?.(fileURLToPath(new URL('.compile-cache', import.meta.url)))
// Before libuv's pool is used. One hash for each processor, and two threads for files and names.
process.env.UV_THREADPOOL_SIZE ??= `${Math.max(4, availableParallelism() + 2)}`
const { main } = await import('./main.ts')
process.exit(await main(process.argv))
