// Where tests and what they start write. A disk that others keep busy answers late, at times for seconds: a service that
// says 503 after 2 s then does what it promises, and fails tests that are about something else.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const GiB = 1024 ** 3

/**
 * A new folder for temporary files: in memory where there is room, as on most Linux machines, otherwise, or when `TMPDIR`
 * says where to, on the disk.
 *
 * Others can look into it: a test of root's becomes somebody else.
 *
 * @param {{ memory?: string, bytes?: number, given?: string | null }} wanted a file system in memory; how much is to
 *   be free in it, and of the memory that this process may have; `TMPDIR`
 * @returns {{ path: string, remove(): void }}
 */
export function scratchSpace({ memory = '/dev/shm', bytes = GiB, given = process.env.TMPDIR ?? null } = {}) {
  const path = (given === null ? folderIn(memory, bytes) : null) ?? mkdtempSync(join(tmpdir(), 'portcullis-scratch-'))
  chmodSync(path, 0o755)
  // Again, as what has just been killed may still have written.
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) }
}

function folderIn(memory, bytes) {
  let path
  try {
    const { bavail, bsize } = statfsSync(memory)
    if (bavail * bsize < bytes || process.availableMemory() < bytes) return null
    path = mkdtempSync(join(memory, 'portcullis-scratch-'))
  } catch {
    return null // there is none, or it is not ours to write to
  }
  if (runsPrograms(path)) return path
  rmSync(path, { recursive: true })
  return null
}

/** Containers often forbid it in memory, and some tests write programs. */
function runsPrograms(folder) {
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}
