import { objectionOfOperator } from '../agreement.ts'
import { columns, type ExitCode, printedRows, warn } from '../output.ts'
import { type GlobalOptions, type UsersHere, withUsers } from '../settings.ts'

type Keys = Awaited<ReturnType<UsersHere['signingKeys']>>
type Listed = Awaited<ReturnType<Keys['list']>>

const noneInUse =
  'no backend signs with a pair of keys: set backends.<name>.strategy.algorithm to EdDSA, ES256 or RS256, and start the service'

/** Lists the pairs of keys that sign tokens. */
export async function listKeys(options: GlobalOptions): Promise<ExitCode> {
  return await withKeys(options, async (keys) => {
    await print(options, await keys.list())
    return 0
  })
}

/** Publishes a next key for each algorithm. Nobody is logged out. */
export async function rotateKeys(options: GlobalOptions): Promise<ExitCode> {
  return await withKeys({ ...options, mustName: true }, async (keys) => {
    const before = await keys.list()
    await keys.rotate()
    const added = (await keys.list()).filter(
      ({ kid, state }) => state === 'next' || !before.some((one) => one.kid === kid),
    )
    if (added.length === 0) {
      warn(noneInUse)
      return 1
    }
    await print(options, added)
    return 0
  })
}

/** Replaces every key at once, because one may have leaked. */
export async function revokeKeys(options: GlobalOptions & { readonly yes?: true }): Promise<ExitCode> {
  return await withKeys({ ...options, mustName: true }, async (keys) => {
    const present = await keys.list()
    if (present.length === 0) {
      warn(noneInUse)
      return 1
    }
    const { rereadSeconds } = keys
    const consequence = `This replaces ${present.length === 1 ? 'the signing key' : `all ${present.length} signing keys`}. Every login with a token of these keys ends within ${rereadSeconds} s, and its user has to log in again. Other services that keep the keys accept the tokens until they read the keys again, which may take 10 minutes: restart them to end this now (docs/verify-elsewhere.md). Cookies of stored sessions and tokens of HS256 go on`
    const objection = await objectionOfOperator(consequence, options)
    if (objection !== null) return objection
    await keys.revoke()
    await print(options, await keys.list())
    return 0
  })
}

async function withKeys(
  options: GlobalOptions & { readonly mustName?: boolean },
  work: (keys: Keys) => Promise<ExitCode>,
): Promise<ExitCode> {
  return await withUsers({ ...options, withoutSecret: false }, async (users) => work(await users.signingKeys()))
}

async function print(options: GlobalOptions, keys: Listed): Promise<void> {
  const rows = keys.map(({ kid, alg, state, signsAt, endsAt }) => {
    const ends = endsAt === null ? '' : `until ${endsAt.toISOString()}`
    return [state, alg, kid, `signs from ${signsAt.toISOString()}`, ends]
  })
  await printedRows(options, rows.length === 0 ? 'there are no signing keys' : columns(rows), keys)
}
