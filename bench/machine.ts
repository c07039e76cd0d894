import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

/** A list of processors as `taskset -c` reads it. */
export type Cores = string

export const bothCores: Cores = `0-${availableParallelism() - 1}`
/** Where what is measured runs, when it is to have a processor of its own … */
export const serverCore: Cores = '0'
/** … and where the load comes from. */
export const loadCore: Cores = availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1'

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** The command that runs `words` on these processors; on any, where there is no taskset. */
export function pinned(words: readonly [string, ...string[]], cores: Cores): readonly [string, ...string[]] {
  return canPin ? ['taskset', '-c', cores, ...words] : words
}

/** Moves this process, with all its threads. */
export function moveTo(cores: Cores): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', cores, `${process.pid}`])
}

/** What the figures were measured on. */
export function machineLine(): string {
  const [cpu] = cpus()
  const pins = canPin ? 'server and load on a processor each' : 'not pinned (no taskset)'
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0)
  const load = loadavg()[0]?.toFixed(2)
  return `${cpu?.model ?? 'unknown'}, ${availableParallelism()} processors, ${gigabytes} GB, Node ${process.versions.node}, load before ${load}, ${pins}`
}
