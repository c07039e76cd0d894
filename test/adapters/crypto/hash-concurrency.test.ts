import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { defaultHashConcurrency } from '../../../src/adapters/crypto/hash-concurrency.ts'

const processors = availableParallelism()

describe('how many hashes are computed at the same time', () => {
  let root = ''
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'cgroup-'))
  })
  afterEach(() => rm(root, { recursive: true }))

  const withFiles = async (files: Record<string, string>, threadPoolSize: number | null = 1000): Promise<number> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true })
      await writeFile(join(root, path), text)
    }
    return defaultHashConcurrency({ threadPoolSize }, root)
  }

  it('leaves two of libuv’s threads to everything else', () => {
    expect(defaultHashConcurrency({ threadPoolSize: 3 }, root)).to.equal(1)
    expect(defaultHashConcurrency({ threadPoolSize: null }, root)).to.equal(Math.min(processors, 2))
  })

  it('is at least 1', () => {
    for (const threadPoolSize of [1, 2]) {
      expect(defaultHashConcurrency({ threadPoolSize }, root), `${threadPoolSize}`).to.equal(1)
    }
  })

  it('is the number of processors where nothing else limits it', () => {
    expect(defaultHashConcurrency({ threadPoolSize: 1000 }, root)).to.equal(processors)
  })

  it('obeys the quota of a control group of version 2, rounded up', async () => {
    expect(await withFiles({ 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': '50000 100000\n' })).to.equal(1)
    expect(await withFiles({ 'sys/fs/cgroup/cpu.max': '110000 100000\n' })).to.equal(Math.min(processors, 2))
    expect(await withFiles({ 'sys/fs/cgroup/cpu.max': 'max 100000\n' })).to.equal(processors)
  })

  it('obeys the tightest quota on the way up', async () => {
    const files = {
      'proc/self/cgroup': '0::/system.slice/portcullis.service\n',
      'sys/fs/cgroup/system.slice/portcullis.service/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/system.slice/cpu.max': '100000 100000\n',
    }
    expect(await withFiles(files)).to.equal(1)
  })

  it('obeys the quota of a control group of version 1, also where only the root of it is mounted', async () => {
    const files = {
      'proc/self/cgroup': '9:memory:/x\n4:cpu,cpuacct:/docker/abc\n0::/\n',
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '90000\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    }
    expect(await withFiles(files)).to.equal(1)
    expect(await withFiles({ 'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n' })).to.equal(processors)
  })

  it('takes nonsense for no quota', async () => {
    for (const text of ['', 'x', '0 100000', '100000 0', '100000', '-5 100000']) {
      const files = { 'proc/self/cgroup': '0::/\nnonsense', 'sys/fs/cgroup/cpu.max': text }
      expect(await withFiles(files), text).to.equal(processors)
    }
  })
})
