import { type ClientNetwork, networksOf } from '../../domain/client-networks.ts'
import type { KeyRing } from '../ports/key-ring.ts'

/** The settings `limits`. */
export interface LimitFigures {
  readonly passwordsPerClient: number
  readonly passwordsBeforePauses: number
  readonly longestPauseSeconds: number
  readonly passwordsPerAccount: number
  readonly passwordsPerDevice: number
  readonly factorsPerAccount: number
  readonly challengesPerAccount: number
  readonly factorsBeforeClosing: number
  readonly registrationsPerClient: number
  readonly tokenRequestsPerClient: number
  readonly wrongTokensPerClient: number
  readonly oauthRequestsPerClient: number
  readonly tokensPerAddress: number
}

const tenMinutes = 600
const fiveMinutes = 300
const quarter = 900
const hour = 3600
const month = 30 * 24 * hour

/** The windows of the counters in seconds, by the settings that have their figures. */
export const windows = {
  passwordsPerClient: tenMinutes,
  passwordsBeforePauses: hour,
  passwordsPerAccount: hour,
  passwordsPerDevice: hour,
  factorsPerAccount: quarter,
  challengesPerAccount: fiveMinutes,
  factorsBeforeClosing: month,
  registrationsPerClient: hour,
  tokenRequestsPerClient: hour,
  wrongTokensPerClient: tenMinutes,
  oauthRequestsPerClient: tenMinutes,
  tokensPerAddress: hour,
} as const satisfies Partial<Record<keyof LimitFigures, number>>

export type CounterName = keyof typeof windows

/** The names of the limits that requests can reach, also that of records that work once. */
export const limitNames: readonly string[] = [...Object.keys(windows), 'maxSingleUseRecords']

export interface Counter {
  readonly name: CounterName
  readonly key: string
  /** The points that it allows. */
  readonly most: number
  /** The network that it counts; `null` if it counts no client. */
  readonly network: string | null
}

/** Names the counter of all device tokens of an account. */
export const knownDevices = 'devices'

export interface CounterNeeds {
  keyRing: Pick<KeyRing, 'counterKey'>
  figures: LimitFigures
}

export function counterOf(needs: CounterNeeds, name: CounterName, ...subject: readonly string[]): Counter {
  return ofNetwork(needs, null, name, subject)
}

/** A counter for each network of a client. */
export function countersOf(
  needs: CounterNeeds,
  client: string,
  name: CounterName,
  ...subject: readonly string[]
): readonly Counter[] {
  return networksOf(client).map((network) => ofNetwork(needs, network, name, [network.name, ...subject]))
}

/** The key of the pause that follows wrong passwords of a client for an account. */
export const pauseOf = (key: string): string => `${key}:pause`

function ofNetwork(
  { keyRing, figures }: CounterNeeds,
  network: ClientNetwork | null,
  name: CounterName,
  subject: readonly string[],
): Counter {
  const key = `${name}:${keyRing.counterKey(...subject)}`
  return { name, key, most: figures[name] * (network?.multiple ?? 1), network: network?.name ?? null }
}
