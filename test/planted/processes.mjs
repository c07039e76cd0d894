// Faults in what several processes of one service share. See scripts/planted-faults.mjs.

export default [
  {
    title: 'each of several processes counts the whole limit while the store is down',
    file: 'src/adapters/stores/memory/limiter.ts',
    text: '(points - 1) * processes + 1',
    replacement: 'points',
    tests: ['test/adapters/stores/limiter.full.test.ts'],
    only: 'allow each of several processes its part',
  },
  {
    title: 'the sums of figures become smaller when a process ends',
    file: 'src/adapters/metrics/summed-figures.ts',
    text: "(last.get(id) ?? []).filter(({ type }) => String(type) !== 'gauge')",
    replacement: '[]',
    tests: ['test/adapters/metrics/summed-figures.test.ts'],
  },
  {
    title: 'several processes serve with a store in memory',
    file: 'src/cli/processes/shares.ts',
    text: "stores[role].kind === 'memory'",
    replacement: 'false',
    tests: ['test/cli/processes/shares.test.ts'],
  },
]
