import { type Answer, call } from '../http/client.ts'
import type { Acme, Back, Profile } from './acme.ts'

interface Sent {
  readonly bearer?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** The purpose of a journey to a provider: to sign in, or to link an account to the user of `bearer`. */
export interface Way {
  readonly flow: 'login' | 'link'
  readonly bearer?: string
}

export const toLogIn: Way = { flow: 'login' }
export const toLink = (bearer?: string): Way => ({ flow: 'link', ...(bearer !== undefined && { bearer }) })

/** A browser: it keeps the cookies that a service sets, and sends them back. */
export class Browser {
  readonly url: string
  readonly jar = new Map<string, string>()

  constructor(url: string) {
    this.url = url
  }

  async get(path: string, sent: Sent = {}): Promise<Answer> {
    return await this.send('GET', path, sent)
  }

  async send(method: string, path: string, { bearer, headers }: Sent = {}): Promise<Answer> {
    const cookie = [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await call(this.url, method, path, {
      ...(cookie !== '' && { cookie }),
      ...(bearer !== undefined && { bearer }),
      ...(headers !== undefined && { headers }),
    })
    for (const line of answer.headers.getSetCookie()) this.#keep(line)
    return answer
  }

  /** Begins a journey; answers where the provider is. */
  async begin(acme: Pick<Acme, 'name'>, way: Way = toLogIn): Promise<string> {
    const answer = await this.get(`${prefixOf(acme, way)}/authorize`, { bearer: way.bearer })
    if (answer.status !== 200) throw new Error(`authorize answered ${answer.status} ${answer.text}`)
    return (answer.body as { authorization_url: string }).authorization_url // safe: 200 carries an address
  }

  /** Comes back from the provider. */
  async comeBack(acme: Pick<Acme, 'name'>, back: Back, way: Way = toLogIn): Promise<Answer> {
    return await this.get(`${prefixOf(acme, way)}/callback?${new URLSearchParams(back)}`, { bearer: way.bearer })
  }

  /** A whole journey of a user that agrees. */
  async travel(acme: Acme, profile: Profile, way: Way = toLogIn): Promise<Answer> {
    return await this.comeBack(acme, acme.approve(await this.begin(acme, way), profile), way)
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const [name = '', ...value] = pair.split('=')
    if (attributes.includes('Max-Age=0')) this.jar.delete(name)
    else this.jar.set(name, value.join('='))
  }
}

export function prefixOf({ name }: { readonly name: string }, { flow }: Way): string {
  return flow === 'login' ? `/auth/${name}` : `/auth/associate/${name}`
}

/** The token of a login that succeeded by a bearer backend. */
export function tokenOf(answer: Answer): string {
  if (answer.status !== 200) throw new Error(`the callback answered ${answer.status} ${answer.text}`)
  return (answer.body as { access_token: string }).access_token // safe: 200 carries a token
}

/** Whether an answer logs anybody in: by a token, or by a cookie of a session. */
export function logsIn({ text, headers }: Answer): boolean {
  const sessions = headers.getSetCookie().filter((line) => /^__Host-session=[^;]/.test(line))
  return text.includes('access_token') || sessions.length > 0
}
