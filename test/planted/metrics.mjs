// Faults in the figures for Prometheus. See scripts/planted-faults.mjs.

export default [
  {
    title: 'each unknown path adds a series',
    file: 'src/adapters/http/server/answer.ts',
    text: 'ctx.state.operation ?? null',
    replacement: 'ctx.state.operation ?? ctx.path',
    tests: ['test/metrics.test.ts'],
  },
]
