import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../../test/support/servers/ports.ts'
import { saturate, shoot } from '../load.ts'
import type { Measure } from '../measure.ts'
import { meByCookie, people } from '../people.ts'
import { residentMegabytes, scratchFolder, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const starts = 9
const goalSeconds = 0.8

/** The time from the start of the process to the first answer, with existing data. */
export const start: Measure = {
  name: 'start',
  async run({ rounds }, say) {
    const port = await freePort()
    const env = { PORTCULLIS_HTTP__PORT: `${port}`, PORTCULLIS_DATA_FOLDER: scratchFolder() }
    const took: number[] = []
    for (let round = 0; round <= Math.min(starts, rounds); round++) {
      const began = performance.now()
      const starting = startService({ env })
      await firstAnswer(`http://127.0.0.1:${port}`)
      if (round > 0) took.push((performance.now() - began) / 1000) // the first round creates the file
      await (await starting).end()
    }
    const { median, min, max } = spreadOf(took)
    say({
      what: 'from the start of the process to the first answer',
      value: `${median.toFixed(2)} s (${min.toFixed(2)}–${max.toFixed(2)})`,
      goal: { text: `≤ ${goalSeconds} s`, isMet: median <= goalSeconds },
    })
  },
}

async function firstAnswer(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: false })
  for (;;) {
    try {
      await shoot(agent, url, { path: '/healthz', headers: {} })
      return
    } catch {
      await delay(2)
    }
  }
}

const settleMilliseconds = 2000

/** Resident memory after the start, and after a load of requests. */
export const memory: Measure = {
  name: 'memory',
  async run({ seconds }, say) {
    const service = await startService()
    await delay(settleMilliseconds)
    const idle = residentMegabytes(service.pid)
    const shots = (await people(service, 32)).map(meByCookie)
    await saturate({ url: service.url, shots, connections: 32, seconds: 5 * seconds })
    const busy = residentMegabytes(service.pid)
    await service.end()
    say({
      what: 'resident memory, just started',
      value: `${idle} MB`,
      beside: `after ${5 * seconds} s of /users/me ${busy} MB`,
    })
  },
}
