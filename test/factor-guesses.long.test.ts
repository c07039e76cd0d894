// Guessing a second factor by 10 000 clients who know the password.
import { join } from 'node:path'
import { expect } from 'chai'
import { type Answer, call, goodPassword } from './support/http/client.ts'
import { figure } from './support/http/figures.ts'
import { challenged, codeOf, enrolled } from './support/scenes/factors.ts'
import { quickest } from './support/scenes/quickest.ts'
import { scratchFolder, spawnService } from './support/services/spawned-service.ts'

const clients = 10_000
const atOnce = 32
/** `limits.factorsPerAccount` for strangers. */
const most = 10

describe('second factors that many clients guess', function () {
  this.timeout(1_800_000)

  it('are tried as often as the limit says, and the browser of the owner gets in', async () => {
    const env = {
      ...quickest,
      PORTCULLIS_DATA_FOLDER: join(scratchFolder(), 'data'),
      PORTCULLIS_ROUTERS__FACTORS__ENABLED: 'true',
      PORTCULLIS_HTTP__TRUSTED_PROXIES: '127.0.0.1,::1',
      PORTCULLIS_PASSWORDS__MAX_WAIT_SECONDS: '60',
    }
    const service = await spawnService(env)
    try {
      const { url } = service
      const { email, secret } = await enrolled(url, 'owner@example.com', () => new Date())
      const form = { username: email, password: goodPassword }
      const logIn = (own: { headers?: Record<string, string>; cookie?: string }) =>
        call(url, 'POST', '/auth/jwt/login', { form, ...own })
      const { challenge } = await challenged(url, email)
      const code = codeOf(secret, new Date(Date.now() + 30_000))
      const known = await call(url, 'POST', '/auth/jwt/second-factor', { json: { challenge, method: 'totp', code } })
      const cookie =
        known.headers.getSetCookie().find((one) => one.includes('device=')) ?? expect.fail('no device cookie')

      const seen: Record<string, number> = {}
      const note = (step: string, { status }: Answer) => {
        const key = `${step} ${status}`
        seen[key] = (seen[key] ?? 0) + 1
      }
      let next = 0
      const guesser = async () => {
        for (let client = next++; client < clients; client = next++) {
          const headers = { 'X-Forwarded-For': `10.${client >> 16}.${(client >> 8) & 255}.${client & 255}` }
          const login = await logIn({ headers })
          note('login', login)
          const { detail } = login.body as { detail: { challenge?: string } } // safe: every refusal has it
          if (detail.challenge === undefined) continue
          const json = { challenge: detail.challenge, method: 'totp', code: '000000' }
          note('code', await call(url, 'POST', '/auth/jwt/second-factor', { json, headers }))
        }
      }
      await Promise.all(Array.from({ length: atOnce }, guesser))
      figure('answers', seen)
      expect(seen['code 400'], JSON.stringify(seen)).to.equal(most)
      expect(seen['code 200']).to.equal(undefined)

      const own = await logIn({ cookie: cookie.split(';')[0] ?? '' })
      expect(own.status).to.equal(400)
      const { detail } = own.body as { detail: { challenge: string } } // safe: the next line proves it
      const json = { challenge: detail.challenge, method: 'totp', code: codeOf(secret, new Date(Date.now() + 30_000)) } // later than the first one
      const headers = { 'X-Forwarded-For': '203.0.113.9' }
      const granted = await call(url, 'POST', '/auth/jwt/second-factor', {
        json,
        headers,
        cookie: cookie.split(';')[0] ?? '',
      })
      expect(granted.status).to.equal(200)
    } finally {
      await service.end('SIGTERM')
    }
  })
})
