// A program that embeds the use cases: does what it is sent, and answers how it went. Events go to its standard output.
// It loads the built package, as its like would: four that compile the sources for themselves start slowly.
import { type Backend, openPortcullis, Refusal, toEmail, type User } from 'portcullis'

export type BackendName = 'jwt' | 'cookie'

/** Who asks: a credential of a backend. */
export interface Bearer {
  readonly backend: BackendName
  readonly value: string
}

interface AnyChange {
  readonly email?: string
  readonly password?: string
  readonly isActive?: boolean
  readonly isSuperuser?: boolean
  readonly isVerified?: boolean
}

export type Outcome<T> = { readonly value: T } | { readonly refusal: string } | { readonly fault: string }
/** `input` are the parameters of the act. */
export interface Asked {
  readonly id: number
  readonly act: keyof Acts
  readonly input: readonly unknown[]
}
export type Acts = typeof acts

const [dataFolder = ''] = process.argv.slice(2)
const { accounts, close } = await openPortcullis({
  dataFolder,
  handlers: { console: true },
  logs: { level: 'warn' },
  passwords: { maxWaitSeconds: 60, memoryKiB: 7168, timeCost: 5 },
})

let requests = 0
const requestId = (): string => `request-${process.pid}-${++requests}`

function backendOf(name: BackendName): Backend {
  const backend = accounts.backends.get(name)
  if (backend === undefined) throw new Error(`there is no backend ${name}`)
  return backend
}

async function callerOf({ backend, value }: Bearer) {
  const by = await accounts.authenticate.execute([{ backend: backendOf(backend), value }])
  if (by === null) throw new Refusal('UNAUTHORIZED')
  return by
}

async function userOf(id: string): Promise<User> {
  const user = await accounts.readUser.execute(id)
  if (user === null) throw new Refusal('NOT_FOUND')
  return user
}

const shown = ({ id, email, isActive, isSuperuser, isVerified }: User) => ({
  id,
  email,
  isActive,
  isSuperuser,
  isVerified,
})

const typed = ({ email, ...others }: AnyChange) => ({
  ...others,
  ...(email !== undefined && { email: toEmail(email) }),
})

const acts = {
  register: async (email: string, password: string) =>
    shown(await accounts.registerUser.execute({ email: toEmail(email), password, requestId: requestId() })),
  createSuperuser: async (email: string, password: string) =>
    shown(await accounts.createSuperuser.execute({ email: toEmail(email), password, requestId: requestId() })),
  logIn: (email: string, password: string, backend: BackendName) =>
    accounts.logIn.execute({ email: toEmail(email), password, backend: backendOf(backend), requestId: requestId() }),
  authenticate: async (bearer: Bearer) => shown((await callerOf(bearer)).user),
  changeOwn: async (bearer: Bearer, changes: Pick<AnyChange, 'email' | 'password'>) =>
    shown(
      await accounts.updateUser.own({ by: await callerOf(bearer), changes: typed(changes), requestId: requestId() }),
    ),
  changeAny: async (bearer: Bearer, id: string, changes: AnyChange) => {
    const [by, target] = [await callerOf(bearer), await userOf(id)]
    return shown(await accounts.updateUser.any({ by, target, changes: typed(changes), requestId: requestId() }))
  },
  read: async (id: string) => shown(await userOf(id)),
  remove: async (id: string) =>
    accounts.deleteUser.execute({ by: 'program', target: await userOf(id), requestId: requestId() }),
  askForToken: (purpose: 'reset_password' | 'verify_email', email: string) =>
    accounts.requestToken.execute({ purpose, email: toEmail(email), requestId: requestId() }),
  reset: (token: string, password: string) =>
    accounts.resetPassword.execute({ token, password, requestId: requestId() }),
  verify: async (token: string) => shown(await accounts.verifyUser.execute({ token, requestId: requestId() })),
}

process.on('message', async ({ id, act, input }: Asked) => {
  const perform = acts[act] as (...input: readonly unknown[]) => Promise<unknown> // safe: `ask` is typed by `Acts`
  const outcome: Outcome<unknown> = await perform(...input).then(
    (value) => ({ value: value ?? null }),
    (thrown) => (thrown instanceof Refusal ? { refusal: thrown.code } : { fault: String(thrown) }),
  )
  process.send?.({ id, outcome })
})
process.once('disconnect', async () => {
  await close()
  process.exit(0)
})
process.send?.('ready')
