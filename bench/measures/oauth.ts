import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { interleaved, ratioFigure } from '../interleaved.ts'
import { latencyAtRate } from '../load.ts'
import type { Measure } from '../measure.ts'
import { login, people } from '../people.ts'
import { longHashQueue, root, run, startService } from '../processes.ts'

const residents = 32
const loginsPerSecond = 20
/** The shortest time in which a person signs in. */
const leastSignInMilliseconds = 1000
const visitorsOfEach = 10
const misdeeds = ['hangs', 'drips', 'floods'] as const
const goal = 1.5

/** POST /auth/jwt/login while 30 users return from providers that hang, drip one byte per second, or never stop sending. */
export const badProvider: Measure = {
  name: 'bad-provider',
  async run({ rounds, seconds }, say) {
    const provider = run(process.execPath, [join(root, 'bench', 'misbehaving-provider.ts')], {})
    const origin = await provider.next(/^listening (.+)$/)
    const service = await startService({ env: { ...longHashQueue, ...providersAt(origin) } })
    const logins = (await people(service, residents)).map(({ email }) => login(email))
    const shot = (turn: number) => logins[turn % logins.length] ?? login('nobody@example.com')
    const measure = () => latencyAtRate(service.url, shot, { perSecond: loginsPerSecond, seconds: 3 * seconds })

    await measure()
    let comebacks = 0
    const measured = await interleaved(rounds, measure, () => {
      let isOver = false
      const visits = Array.from({ length: visitorsOfEach * misdeeds.length }, async (_, visitor) => {
        const misdeed = misdeeds[visitor % misdeeds.length] ?? 'hangs'
        // Spread the users over time. Without this, all of them would return in the same millisecond.
        await delay((visitor / (visitorsOfEach * misdeeds.length)) * leastSignInMilliseconds)
        while (!isOver) {
          const pause = delay(leastSignInMilliseconds)
          await comeBackFrom(service.url, misdeed)
          comebacks += 1
          await pause
        }
      })
      return {
        end: () => {
          isOver = true
          return Promise.all(visits)
        },
      }
    })
    await service.end()
    await provider.end()

    const visitors = visitorsOfEach * misdeeds.length
    const what = `POST /auth/jwt/login, p99, while ${visitors} wait for a provider that misbehaves`
    say(ratioFigure(what, measured, goal, `${comebacks} sign-ins were answered 502`))
  },
}

function providersAt(origin: string): Record<string, string> {
  const ofEach = misdeeds.map((misdeed) => {
    const options = {
      KIND: 'oauth2',
      CLIENT_ID: 'bench',
      CLIENT_SECRET: 'a secret that only serves to measure with',
      AUTHORIZE_URL: `${origin}/authorize`,
      TOKEN_URL: `${origin}/${misdeed}`,
      PROFILE_URL: `${origin}/profile`,
    }
    return Object.entries(options).map(([key, value]) => [
      `PORTCULLIS_PROVIDERS__${misdeed.toUpperCase()}__${key}`,
      value,
    ])
  })
  return Object.fromEntries(ofEach.flat())
}

/** One user goes to a provider and returns with a code that gets no token. */
async function comeBackFrom(url: string, provider: string): Promise<void> {
  const begun = await fetch(`${url}/auth/${provider}/authorize`)
  const [cookie = ''] = (begun.headers.get('Set-Cookie') ?? '').split(';')
  const { authorization_url: address }: { authorization_url: string } = JSON.parse(await begun.text())
  const query = new URLSearchParams({ code: 'any', state: new URL(address).searchParams.get('state') ?? '' })
  const back = await fetch(`${url}/auth/${provider}/callback?${query}`, { headers: { Cookie: cookie } })
  const said = await back.text()
  if (back.status !== 502) throw new Error(`coming back from ${provider} was answered ${back.status} ${said}`)
}
