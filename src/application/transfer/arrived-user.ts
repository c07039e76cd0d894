import type { Email, ParsedEmail } from '../../domain/email.ts'
import { type Factors, hasFactor, noFactors } from '../../domain/factors.ts'
import { type FieldRules, maxFieldBytes, noFields, withKeys } from '../../domain/fields.ts'
import { type IdKind, kindOf, parseUserId, type UserId } from '../../domain/ids.ts'
import type { OAuthAccount } from '../../domain/oauth-account.ts'
import { newUser, type User } from '../../domain/user.ts'
import { maxReasonLength } from '../accounts/account-changes.ts'
import type { ProviderVault } from '../ports/provider-vault.ts'
import type { ArrivingAccount, ArrivingUser } from '../ports/user-source.ts'

export interface ArrivedNeeds {
  vault: ProviderVault
  fieldRules: FieldRules
  /** The kind of ids of the store. */
  ids: IdKind
  clock: () => Date
  newId: () => string
  /** Reads the address of a user who exists already. */
  parseEmail: (text: string) => ParsedEmail
  /** The objection to a stored password hash, in words; `null` for none. */
  hashObjection: (hash: string) => string | null
}

/** A user of another system has rarely more. Each costs bytes in every read of the user. */
export const maxImportedAccounts = 100
const maxTextLength = 2048

export interface Arrived {
  readonly user: User
  /** The parts of the record that the user lacks, in words for the operator. */
  readonly remarks: readonly string[]
}

/** The facts about a record beside its text. */
export interface Origin {
  readonly digest: string
  readonly hasHashes: boolean
  /** Whether another master secret than ours has encrypted its tokens and factors. */
  readonly isSealedByOther: boolean
  /** Whether a user of an earlier import was deleted here. */
  readonly mayBeDeleted: boolean
}

/** The id of a record; `null` if it is none of the kind of the store. */
export function arrivedId({ ids }: Pick<ArrivedNeeds, 'ids'>, record: ArrivingUser): UserId | null {
  const id = parseUserId(record.id)
  return id !== null && kindOf(id) === ids ? id : null
}

/** The user of a record, or the objection to the whole of it. */
export function arrivedUser(
  needs: ArrivedNeeds,
  record: ArrivingUser,
  origin: Origin,
  existing: User | null,
): Arrived | { readonly objection: string } {
  const { ids, clock, parseEmail } = needs
  const id = arrivedId(needs, record)
  if (id === null) return { objection: `the id is no ${ids}` }
  const parsed = parseEmail(record.email)
  if ('objection' in parsed) return { objection: `the address is refused: ${parsed.objection}` }
  const factors = withLaterStep(record.factors ?? existing?.factors ?? noFactors, existing)
  // Nobody could use the factor, and without it the password alone would be enough.
  if (origin.isSealedByOther && record.factors !== null && hasFactor({ factors })) {
    return { objection: 'another secret has encrypted the second factor: set the secret of the source' }
  }

  const remarks = [...(record.lacks ?? [])]
  const remark = (text: string): void => void remarks.push(text)
  const now = clock()
  const createdAt = record.createdAt ?? existing?.createdAt ?? now
  const given = keptHash(needs, record.passwordHash, remark)
  const passwordHash = origin.hasHashes && !hasSameHash(record, existing) ? given : (existing?.passwordHash ?? null)
  const fresh = newUser(id, parsed.email, passwordHash, createdAt)
  const sessions = sessionsOf(record, existing) ?? fresh.sessions
  const user: User = {
    ...fresh,
    passwordVersion: versionOf(existing, passwordHash),
    isActive: record.isActive,
    isSuperuser: record.isSuperuser,
    isVerified: record.isVerified,
    inactiveUntil: record.isActive ? null : (record.inactiveUntil ?? null),
    inactiveReason: record.isActive ? null : keptReason(record.inactiveReason ?? null, remark),
    isOwnerProved: record.isOwnerProved,
    sessions: { generation: sessions.generation, keptSid: sessions.keptSid },
    endedUntil: later(record.credentials?.endedUntil ?? null, existing?.endedUntil ?? null),
    oauthAccounts: keptAccounts(needs, id, record, origin.isSealedByOther, existing, remark),
    factors,
    fields: keptFields(needs, record, remark),
    imported: {
      generation: record.former === null ? null : sessions.generation,
      hashText: record.former?.hashText ?? null,
      ...marksOf(record, origin.digest, existing),
      version: existing === null ? fresh.version : existing.version + 1,
    },
    version: existing?.version ?? fresh.version,
  }
  return { user, remarks }
}

/** The digests by which later imports from a file and from another system find what has changed there. */
function marksOf({ credentials, imported }: ArrivingUser, digest: string, existing: User | null) {
  if (credentials !== null) return { digest, earlier: imported ?? null }
  const before = existing?.imported
  return before?.earlier === undefined ? { digest } : { digest: before.digest, earlier: { digest, isChanged: false } }
}

/** A login here may have made a new hash of the same password. */
function hasSameHash({ former }: ArrivingUser, existing: User | null): boolean {
  return former?.hashText != null && former.hashText === existing?.imported?.hashText
}

/** A login that was kept there may have been ended here since. */
function sessionsOf({ credentials }: ArrivingUser, existing: User | null): User['sessions'] | null {
  if (existing !== null && credentials?.generation === existing.sessions.generation) return existing.sessions
  return credentials ?? existing?.sessions ?? null
}

const later = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other > one) ? other : one

/** A code that was used here works no second time. */
function withLaterStep(factors: Factors, existing: User | null): Factors {
  const { totp } = factors
  if (totp === null) return factors
  return { ...factors, totp: { ...totp, lastStep: Math.max(totp.lastStep, existing?.factors.totp?.lastStep ?? 0) } }
}

type Remark = (text: string) => void

/** Reset tokens are bound to the version, so another password ends them. */
function versionOf(existing: User | null, passwordHash: string | null): number {
  if (existing === null) return 1
  return existing.passwordHash === passwordHash ? existing.passwordVersion : existing.passwordVersion + 1
}

function keptHash({ hashObjection }: ArrivedNeeds, hash: string | null, remark: Remark): string | null {
  const objection = hash === null ? null : hashObjection(hash)
  if (objection !== null) remark(`has no password: ${objection}`)
  return objection === null ? hash : null
}

function keptReason(reason: string | null, remark: Remark): string | null {
  if (reason === null || (reason.length <= maxReasonLength && isStorable(reason))) return reason
  remark('has no reason of the deactivation: it is too long, or has characters that no text may have')
  return null
}

function keptFields({ fieldRules }: ArrivedNeeds, { fields: given }: ArrivingUser, remark: Remark): User['fields'] {
  const values = Object.entries(given).filter(([, value]) => value !== null && value !== undefined)
  const isUnfit = (name: string): boolean => fieldRules.fields.has(name) && Object.hasOwn(fields.retired, name)
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(values))).length
  const maxBytes = 2 * maxFieldBytes // those that users write, and read-only ones
  if (values.some(([, value]) => !isStorable(JSON.stringify(value) ?? '')) || bytes > maxBytes) {
    remark(`has no own fields: they have more than ${maxBytes} bytes, or characters that no text may have`)
    return withKeys(fieldRules, noFields)
  }
  // Safe: a value that does not fit its field goes to the retired ones, which nobody sees.
  const fields = withKeys(fieldRules, { ...noFields, retired: Object.fromEntries(values) as User['fields']['retired'] })
  for (const name of Object.keys(fields.retired).filter(isUnfit)) {
    remark(`the value of the field ${name} does not fit: it is kept, and nobody sees it`)
  }
  return fields
}

function keptAccounts(
  { vault, newId, parseEmail }: ArrivedNeeds,
  userId: UserId,
  record: ArrivingUser,
  isSealedByOther: boolean,
  existing: User | null,
  remark: Remark,
): readonly OAuthAccount[] {
  const kept = new Map<string, OAuthAccount>()
  let unusable = 0
  let sealedByOther = 0
  for (const account of record.accounts) {
    const { provider, accountId, accountEmail, accessToken, refreshToken, vouchedEmail, isSealed } = account
    const key = accountKey(account)
    if (!isUsable(account) || kept.has(key) || kept.size === maxImportedAccounts) {
      unusable++
      continue
    }
    const known = existing?.oauthAccounts.find((one) => accountKey(one) === key)
    const cannotOpen = isSealed && isSealedByOther
    if (cannotOpen) sealedByOther++
    const isNewerHere = (known?.expiresAt ?? noTime) > (account.expiresAt ?? noTime)
    const sealed = (token: string): string => (isSealed ? token : vault.seal(token, userId, provider))
    kept.set(key, {
      id: account.id ?? known?.id ?? newId(),
      provider,
      accountId,
      accountEmail,
      vouchedEmail: addressOr(parseEmail, vouchedEmail) ?? known?.vouchedEmail ?? null,
      sealedAccessToken: cannotOpen ? '' : sealed(accessToken),
      sealedRefreshToken: cannotOpen || refreshToken === null ? null : sealed(refreshToken),
      expiresAt: account.expiresAt,
      refreshingUntil: null,
      ...(isNewerHere && known && tokensOf(known)),
    })
  }
  if (unusable > 0) {
    remark(
      `lacks ${unusable} links: each account once, at most ${maxImportedAccounts}, and with a name and id of at most ${maxTextLength} characters`,
    )
  }
  if (sealedByOther > 0) remark(`has ${sealedByOther} links without provider tokens: another secret has encrypted them`)
  return [...kept.values()]
}

const noTime = new Date(0)

/** A sign-in here may have renewed them. */
function tokensOf({ sealedAccessToken, sealedRefreshToken, expiresAt }: OAuthAccount) {
  return { sealedAccessToken, sealedRefreshToken, expiresAt }
}

export function accountKey({ provider, accountId }: Pick<ArrivingAccount, 'provider' | 'accountId'>): string {
  return `${provider} ${accountId}`
}

function isUsable({ provider, accountId, accountEmail, accessToken, refreshToken }: ArrivingAccount): boolean {
  const texts = [provider, accountId, accountEmail]
  const tokens = [accessToken, refreshToken ?? '']
  if (provider === '' || accountId === '') return false
  return texts.every((text) => text.length <= maxTextLength) && [...texts, ...tokens].every(isStorable)
}

/** Not every store keeps a NUL, or half of a surrogate pair. */
function isStorable(text: string): boolean {
  return !/\0|\\u0000|\\ud[89a-f]/i.test(text) && text.isWellFormed()
}

function addressOr(parseEmail: ArrivedNeeds['parseEmail'], text: string | null): Email | null {
  const parsed = text === null ? null : parseEmail(text)
  return parsed !== null && 'email' in parsed ? parsed.email : null
}
