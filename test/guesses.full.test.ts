import { join } from 'node:path'
import { expect } from 'chai'
import { atOnce, callers, fourProcesses, newAddress, oneProcess, type Processes, tally } from './races/site.ts'
import { eventually } from './support/eventually.ts'
import { type Answer, call, goodPassword, register } from './support/http/client.ts'
import { enrol } from './support/scenes/enrol.ts'
import { quickest } from './support/scenes/quickest.ts'
import {
  inMemory,
  needsDeployment,
  onMongo,
  onPostgres,
  onSqlite,
  onSqliteAndRedis,
} from './support/services/deployments.ts'
import { scratchFolder } from './support/services/spawned-service.ts'

type Tally = Readonly<Record<string, number>>

const guesses = 128
const verified = '400 LOGIN_BAD_CREDENTIALS'
const limited = '429 TOO_MANY_REQUESTS'
const begun = 'limits are counted in this process'
/** The service holds back each answer 429 for as long. */
const heldMs = 1000

const sites = [
  { deployment: inMemory, start: oneProcess },
  { deployment: onSqlite, start: fourProcesses },
  { deployment: onMongo, start: fourProcesses },
  { deployment: onPostgres, start: fourProcesses },
  { deployment: onSqliteAndRedis, start: fourProcesses },
]

for (const { deployment, start } of sites) {
  describe(`passwords that ${callers} callers guess, on ${deployment.name}`, function () {
    this.timeout(600_000)
    const dataFolder = join(scratchFolder(), 'data')
    let env: Readonly<Record<string, string>>
    let site: Processes | undefined

    before(async function () {
      await needsDeployment(this, deployment)
      env = { ...(await deployment.settings()), ...quickest, PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1' }
      site = await start(env, dataFolder)
    })

    after(async () => {
      await site?.stop()
      if (site !== undefined) await deployment.remove(env)
    })

    const url = (caller = 0): string => site?.urls[caller % site.urls.length] ?? ''

    const said = (text: string): number => site?.logged().filter((line) => line.includes(text)).length ?? 0

    /** The address of a new account. */
    async function owner(): Promise<string> {
      const email = newAddress()
      if (deployment.isShared) await enrol(env, dataFolder, [email])
      else await register(url(), email)
      return email
    }

    function guess(email: string, caller: number, client: string) {
      const form = { username: email, password: `${goodPassword} ${caller}` }
      const headers = { 'X-Forwarded-For': client }
      return call(url(caller), 'POST', '/auth/jwt/login', { form, headers })
    }

    /** So many callers guess 128 times in all. Each guess is that of another client. */
    async function guessAtOnce(email: string, count: number): Promise<Tally> {
      const answers = await atOnce(async (caller) => {
        const made = []
        for (let at = caller; at < guesses; at += count) made.push(await guess(email, at, `198.51.100.${at}`))
        return made
      }, count)
      return tally(answers.flat())
    }

    async function guessOnEach(email: string): Promise<Answer[]> {
      const answers: Answer[] = []
      for (const caller of site?.urls.keys() ?? []) answers.push(await guess(email, caller, '198.51.100.0'))
      return answers
    }

    /**
     * Repeats `act` until the stores answer all the while. A process counts for itself while a busy machine delays them, so
     * each time half as many callers act at once.
     */
    async function undelayed<T extends { readonly tallied: Tally }>(act: (count: number) => Promise<T>): Promise<T> {
      for (let count = callers; ; count = Math.max(8, count / 2)) {
        await eventually('the stores', () => said('limits are counted in the store again') === said(begun))
        const before = said(begun)
        const done = await act(count)
        if (said(begun) === before && !('503 SERVICE_UNAVAILABLE' in done.tallied)) return done
      }
    }

    it('are verified 100 times for an account, and no more after a restart', async () => {
      const { email, tallied } = await undelayed(async (count) => {
        const email = await owner()
        return { email, tallied: await guessAtOnce(email, count) }
      })
      expect(tallied).to.deep.equal({ [verified]: 100, [limited]: guesses - 100 })
      if (!deployment.isShared) return

      await site?.stop()
      site = await start(env, dataFolder)
      const later = await undelayed(async () => ({ tallied: tally(await guessOnEach(email)) }))
      expect(later.tallied).to.deep.equal({ [limited]: site.urls.length })
    })

    it('are verified 5 times for an account and one client, and then after pauses', async () => {
      let clients = 0
      let seconds = 0
      const { tallied, made } = await undelayed(async (made) => {
        const email = await owner()
        const client = `203.0.113.${clients++}`
        const start = performance.now()
        const answers = await atOnce(async (caller) => {
          const answer = await guess(email, caller, client)
          if (answer.status === 429) seconds = (performance.now() - heldMs - start) / 1000
          return answer
        }, made)
        return { tallied: tally(answers), made }
      })
      // After pauses of 1, 2 … seconds one more. A busy machine takes so long for the first request of each caller.
      const pauses = Math.floor(Math.log2(seconds + 1))
      const { [verified]: count = 0, ...others } = tallied
      expect(count).to.be.within(5, 5 + pauses)
      expect(others).to.deep.equal({ [limited]: made - count })
    })
  })
}
