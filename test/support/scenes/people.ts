import { enrol } from './enrol.ts'

/** Addresses in the states that a stranger must not be able to tell apart. */
export interface People {
  readonly unverified: readonly string[]
  readonly verified: readonly string[]
  readonly inactive: readonly string[]
  /** Addresses without an account. */
  readonly unknown: readonly string[]
}

/** Gives accounts to so many people of each kind, with `goodPassword`, in the stores of these settings. */
export async function settle(
  env: Readonly<Record<string, string>>,
  dataFolder: string,
  count: number,
): Promise<People> {
  const addresses = (kind: string) => Array.from({ length: count }, (_, at) => `${kind}-${at}@example.com`)
  const people: People = {
    unverified: addresses('somebody'),
    verified: addresses('verified-for-long'),
    inactive: addresses('off'),
    unknown: addresses('nobody-at-all'),
  }
  await enrol(env, dataFolder, people.unverified)
  await enrol(env, dataFolder, people.verified, { isVerified: true })
  await enrol(env, dataFolder, people.inactive, { isActive: false })
  return people
}
