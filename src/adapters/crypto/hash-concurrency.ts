import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** libuv's own default. */
const defaultThreadPoolSize = 4
/** Threads of libuv's pool that hashing leaves to file system, DNS and zlib. */
const sparedThreads = 2

/**
 * How many hashes to compute at the same time: as many as there are processors to compute them, by affinity and
 * by the quota of the control group, and never all of libuv's threads. At least 1.
 *
 * @param threadPoolSize what the environment sets as `UV_THREADPOOL_SIZE`; `null` when it sets nothing
 * @param root where the file system begins
 */
export function defaultHashConcurrency({ threadPoolSize }: { threadPoolSize: number | null }, root = '/'): number {
  const threads = (threadPoolSize ?? defaultThreadPoolSize) - sparedThreads
  return Math.max(1, Math.min(availableParallelism(), Math.ceil(quotaOfControlGroup(root)), threads))
}

/** Processors this process may use up; infinite where no quota is to be found. The tightest one on the way up. */
function quotaOfControlGroup(root: string): number {
  const quotas = [Number.POSITIVE_INFINITY]
  for (const line of read(join(root, 'proc/self/cgroup')).split('\n')) {
    // `0::/path` in version 2, `4:cpu,cpuacct:/path` in version 1 (cgroups(7)).
    const [id, controllers = '', ...rest] = line.split(':')
    const path = rest.join(':')
    if (id === '0') {
      for (const folder of upwards(path)) quotas.push(quotaOfV2(join(root, 'sys/fs/cgroup', folder)))
    } else if (controllers.split(',').includes('cpu')) {
      for (const folder of upwards(path)) quotas.push(quotaOfV1(join(root, 'sys/fs/cgroup/cpu', folder)))
    }
  }
  return Math.min(...quotas)
}

/** `/a/b`, `/a`, `/`: inside a container only the last may be there. */
function upwards(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '..')
  return [...names.keys(), names.length].map((count) => `/${names.slice(0, count).join('/')}`).reverse()
}

function quotaOfV2(folder: string): number {
  const [quota = '', period = ''] = read(join(folder, 'cpu.max')).trim().split(' ')
  return processors(quota, period)
}

function quotaOfV1(folder: string): number {
  return processors(read(join(folder, 'cpu.cfs_quota_us')).trim(), read(join(folder, 'cpu.cfs_period_us')).trim())
}

/** `max`, `-1`, nothing and nonsense all mean that there is no quota. */
function processors(quota: string, period: string): number {
  const count = Number(quota) / Number(period)
  return quota !== '' && Number.isFinite(count) && count > 0 ? count : Number.POSITIVE_INFINITY
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
