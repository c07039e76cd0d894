import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { defaultHashConcurrency } from '../../src/adapters/crypto/hash-concurrency.ts'
import { only, rain } from '../load.ts'
import type { Measure } from '../measure.ts'
import { login, password, people } from '../people.ts'
import { patience, root, run, type StartedService, startService } from '../processes.ts'
import { spreadOf } from '../statistics.ts'

const connections = 32
/** For the hashes that still wait when the clients of a round have gone. */
const settleMilliseconds = 1000
const goal = 0.95

/** Logins a second next to argon2.verify and nothing else: the very hash, and as many at a time as the service does. */
export const logins: Measure = {
  name: 'logins',
  async run({ rounds, seconds }, say) {
    const service = await startService({ env: patience })
    const everybody = await people(service, connections)
    const shots = everybody.map(({ email }) => login(email))
    const raw = run(process.execPath, [join(root, 'bench', 'bare-verify.mjs')], {
      env: {
        BARE_HASH: someHash(service),
        BARE_PASSWORD: password,
        BARE_CONCURRENCY: `${defaultHashConcurrency({ threadPoolSize: null })}`,
      },
    })
    const ours = async (): Promise<number> => {
      const rate = only(200, await rain({ url: service.url, shots, connections, seconds: 2 * seconds }))
      await delay(settleMilliseconds)
      return rate
    }
    const theirs = async (): Promise<number> => {
      const rate = raw.next(/^rate (.+)$/)
      raw.tell(`${2 * seconds}`)
      return Number(await rate)
    }

    await ours()
    await theirs()
    const pairs: { ours: number; theirs: number }[] = []
    for (let round = 0; round < rounds; round++) pairs.push({ ours: await ours(), theirs: await theirs() })
    await service.end()
    await raw.end()

    const ratio = spreadOf(pairs.map((pair) => pair.ours / pair.theirs))
    say({
      what: `POST /auth/jwt/login, ${connections} clients`,
      value: `${spreadOf(pairs.map((pair) => pair.ours)).median.toFixed(1)}/s`,
      beside: `argon2.verify ${spreadOf(pairs.map((pair) => pair.theirs)).median.toFixed(1)}/s`,
      ratio: `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`,
      goal: { text: `≥ ${goal}`, isMet: ratio.median >= goal },
    })
  },
}

function someHash({ dataFolder }: StartedService): string {
  const db = new Database(join(dataFolder, 'portcullis.sqlite'), { readonly: true })
  const hash = db.prepare<[], string>('SELECT password_hash FROM users LIMIT 1').pluck().get()
  db.close()
  if (hash === undefined) throw new Error('nobody has a password')
  return hash
}
