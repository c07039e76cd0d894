import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

/** A list of processors in the format of `taskset -c`. */
export type Cores = string

export const bothCores: Cores = `0-${availableParallelism() - 1}`
/** The processor of the measured server, if it has its own … */
export const serverCore: Cores = '0'
/** … and the processors of the load. */
export const loadCore: Cores = availableParallelism() > 2 ? `1-${availableParallelism() - 1}` : '1'

const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

/** The command that runs `words` on these processors, or on any if taskset is missing. */
export function pinned(words: readonly [string, ...string[]], cores: Cores): readonly [string, ...string[]] {
  return canPin ? ['taskset', '-c', cores, ...words] : words
}

/** Moves this process and its threads to other processors. */
export function moveTo(cores: Cores): void {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', cores, `${process.pid}`])
}

/** Describes the machine. */
export function machineLine(): string {
  const [cpu] = cpus()
  const pins = canPin ? 'server and load on a processor each' : 'not pinned (no taskset)'
  const gigabytes = (totalmem() / 2 ** 30).toFixed(0)
  const load = loadavg()[0]?.toFixed(2)
  return `${cpu?.model ?? 'unknown'}, ${availableParallelism()} processors, ${gigabytes} GB, Node ${process.versions.node}, load before ${load}, ${pins}`
}
