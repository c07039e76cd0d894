import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk {
  readonly folder: string
  /** Takes all free space. */
  fill(): void
  /** Frees this space again. */
  free(): void
  remove(): void
}

/** A folder of the user `postgres` on a file system of so many megabytes; the reason why there can be none. */
export function smallDisk(megabytes: number): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-disk-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], {
    encoding: 'utf8',
  })
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true })
    return `no small file system can be mounted: ${mounted.stderr ?? mounted.error?.message}`
  }
  const data = join(folder, 'data')
  const ballast = join(folder, 'ballast')
  spawnSync('install', ['-d', '-o', 'postgres', data])
  const remove = (): void => {
    process.off('exit', remove)
    spawnSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', remove)

  return {
    folder: data,
    fill() {
      const file = openSync(ballast, 'w')
      const block = Buffer.alloc(4096)
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(ballast),
    remove,
  }
}
