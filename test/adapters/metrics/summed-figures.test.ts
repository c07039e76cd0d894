import { expect } from 'chai'
import { Counter, Gauge, Registry } from 'prom-client'
import { summedFigures } from '../../../src/adapters/metrics/summed-figures.ts'

/** The figures of a process. */
function process(requests: number) {
  const registry = new Registry()
  const registers = [registry]
  const counter = new Counter({ name: 'requests', help: 'r', labelNames: ['code'], registers })
  counter.inc({ code: '200' }, requests)
  new Gauge({ name: 'waiting', help: 'w', registers }).set(2)
  new Gauge({ name: 'stored', help: 's', aggregator: 'max', registers }).set(7)
  return { counter, read: () => registry.getMetricsAsJSON() }
}

describe('the figures of several processes', () => {
  it('are added up, but those of the stores count once, and the counts of ended processes stay', async () => {
    const processes = new Map([
      [1, process(3)],
      [2, process(4)],
    ])
    const summed = summedFigures(() => {
      for (const [id, { read }] of processes) void read().then((figures) => summed.heard(id, figures))
      return [...processes.keys()]
    })
    const series = async () =>
      (await summed.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(await series()).to.have.members(['requests{code="200"} 7', 'waiting 4', 'stored 7'])

    processes.delete(1)
    summed.ended(1)
    processes.set(3, process(1))
    expect(await series()).to.have.members(['requests{code="200"} 8', 'waiting 4', 'stored 7'])

    processes.delete(2)
    summed.ended(2)
    processes.get(3)?.counter.inc({ code: '200' })
    expect(await series()).to.have.members(['requests{code="200"} 9', 'waiting 2', 'stored 7'])
  })

  it('do not wait for a process that ends meanwhile', async () => {
    const summed = summedFigures(() => [1, 2])
    const text = summed.metrics()
    summed.heard(1, await process(3).read())
    summed.ended(2)
    expect(await text).to.include('requests{code="200"} 3')
  })
})
