import { type Answer, call, goodPassword, logIn, type Sent } from '../http/client.ts'
import { resetToken, verifyToken } from '../scenes/one-time-tokens.ts'
import { startTestService, type TestService } from '../services/service.ts'
import { type Acme, type Profile, startAcme } from './acme.ts'
import { Browser, toLink } from './oauth-browser.ts'

type Env = Readonly<Record<string, string>>

/** A linked account, as its user sees it in the list. */
export interface Link {
  readonly id: string
  readonly oauth_name: string
  readonly account_id: string
  readonly account_email: string
}

/** A service whose users may sign in through acme, and the steps that many suites take there. */
export class AcmeSite {
  /** Milliseconds by which the clock of the service is ahead. */
  late = 0
  readonly acme: Acme
  #service: TestService | null = null

  private constructor(acme: Acme) {
    this.acme = acme
  }

  /** @param options of the provider, e.g. `{ BACKEND: 'cookie' }` */
  static async start(options: Env = {}, env: Env = {}): Promise<AcmeSite> {
    const site = new AcmeSite(await startAcme())
    const clock = () => new Date(Date.now() + site.late)
    site.#service = await startTestService({ ...env, ...site.acme.env(options) }, { clock })
    return site
  }

  get service(): TestService {
    if (this.#service === null) throw new Error('the service is not started')
    return this.#service
  }

  async stop(): Promise<void> {
    await this.#service?.stop()
    await this.acme.close()
  }

  browser(): Browser {
    return new Browser(this.service.url)
  }

  call(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    return call(this.service.url, method, path, sent)
  }

  /** A whole journey in a new browser: to sign in, or to link an account to the user of `bearer`. */
  travel(profile: Profile, bearer?: string): Promise<Answer> {
    return this.browser().travel(this.acme, profile, bearer === undefined ? undefined : toLink(bearer))
  }

  /** Status of `GET /users/me`. */
  async statusOf(bearer: string): Promise<number> {
    return (await this.call('GET', '/users/me', { bearer })).status
  }

  async idOf(bearer: string): Promise<string> {
    return ((await this.call('GET', '/users/me', { bearer })).body as { id: string }).id // safe: 200 carries a User
  }

  async linksOf(bearer: string): Promise<readonly Link[]> {
    return (await this.call('GET', '/users/me/oauth-accounts', { bearer })).body as Link[] // safe: 200 carries these
  }

  unlink(bearer: string, id: string | undefined, provider = 'acme'): Promise<Answer> {
    return this.call('DELETE', `/auth/associate/${provider}/${id}`, { bearer })
  }

  /** Status of a login by password. */
  async passwordLogin(email: string, password = goodPassword): Promise<number> {
    return (await this.call('POST', '/auth/jwt/login', { form: { username: email, password } })).status
  }

  /** Verifies an address by the token that was mailed to it; `sent` may carry a credential. */
  async verify(email: string, sent: Sent = {}): Promise<void> {
    const json = { token: await verifyToken(this.service, email) }
    const answer = await this.call('POST', '/auth/verify', { ...sent, json })
    if (answer.status !== 200) throw new Error(`verify answered ${answer.status} ${answer.text}`)
  }

  /** Sets `goodPassword` by the token that was mailed to an address; answers the bearer of a new login. */
  async takeOver(email: string): Promise<string> {
    const json = { token: await resetToken(this.service, email), password: goodPassword }
    const answer = await this.call('POST', '/auth/reset-password', { json })
    if (answer.status !== 200) throw new Error(`reset-password answered ${answer.status} ${answer.text}`)
    return logIn(this.service.url, email)
  }
}
