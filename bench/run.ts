import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { machineLine } from './machine.ts'
import type { Measure } from './measure.ts'
import { embedding } from './measures/embedding.ts'
import { duringForgotPassword, duringLogins, slowDisk } from './measures/latency.ts'
import { costOfLimits, guessing } from './measures/limits.ts'
import { logins, postgresLogins } from './measures/logins.ts'
import { me, postgresMe } from './measures/me.ts'
import { millionUsers, postgresMillionUsers } from './measures/million-users.ts'
import { badProvider } from './measures/oauth.ts'
import { processes } from './measures/processes.ts'
import { register } from './measures/register.ts'
import { memory, start } from './measures/start.ts'
import { loginFlood, manyTenants, stoppedStore } from './measures/tenants.ts'
import { executable } from './processes.ts'
import { tableHead, tableLine } from './table.ts'

const measures: readonly Measure[] = [
  start,
  embedding,
  memory,
  me,
  logins,
  processes,
  register,
  duringLogins,
  slowDisk,
  duringForgotPassword,
  badProvider,
  manyTenants,
  stoppedStore,
  loginFlood,
  guessing,
  costOfLimits,
  millionUsers,
  postgresMe,
  postgresLogins,
  postgresMillionUsers,
]
const names = measures.map(({ name }) => name)

const usage = `npm run bench -- [--rounds 15] [--seconds 2] [${names.join(' | ')}] …`

const { rounds, seconds, chosen } = effort()
if (!existsSync(executable)) throw new Error('nothing is built yet: npm run build')

console.log(`${machineLine()}\n`)
console.log(tableHead)
let isMissed = false
for (const measure of measures) {
  if (chosen.length > 0 && !chosen.includes(measure.name)) continue
  await measure.run({ rounds, seconds }, (figure) => {
    isMissed ||= figure.goal?.isMet === false
    console.log(tableLine(figure))
  })
}
process.exit(isMissed ? 1 : 0)

function effort(): { rounds: number; seconds: number; chosen: readonly string[] } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { rounds: { type: 'string', default: '15' }, seconds: { type: 'string', default: '2' } },
    })
    const given = { rounds: Number(values.rounds), seconds: Number(values.seconds), chosen: positionals }
    for (const number of [given.rounds, given.seconds]) {
      if (!Number.isInteger(number) || number < 1) throw new Error('--rounds and --seconds take whole numbers from 1')
    }
    const unknown = positionals.find((name) => !names.includes(name))
    if (unknown !== undefined) throw new Error(`nothing is called ${unknown}`)
    return given
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${usage}`)
    process.exit(2)
  }
}
