// The answers of the service that the pages show, from its schemas.
import type { Static } from 'typebox'
import type { DeliveriesSchema, HealthSchema, RetriedSchema } from '../../admin/admin-router.ts'
import type { DetailsSchema, ExplanationSchema } from '../../admin/explain-router.ts'
import type { PasswordSchema } from '../../routers/check-password.ts'
import type { TokenOwnerSchema } from '../../routers/check-reset.ts'
import type { CodesSchema, FactorsSchema, SetupSchema } from '../../routers/factors.ts'
import type { AccountsSchema, SessionsSchema, UserPageSchema, UserSchema } from '../../schemas.ts'

/** With the fields that the deployer declares. With integer ids, the id is a number. */
export type Me = Static<typeof UserSchema> & Readonly<Record<string, unknown>>
export type LinkedAccount = Static<typeof AccountsSchema>[number]
export type StoredSession = Static<typeof SessionsSchema>[number]
export type OwnPassword = Static<typeof PasswordSchema>
export type TokenOwner = Static<typeof TokenOwnerSchema>
export type Factors = Static<typeof FactorsSchema>
export type Passkey = Factors['passkeys'][number]
export type Setup = Static<typeof SetupSchema>
export type Codes = Static<typeof CodesSchema>

export type FoundPage = Static<typeof UserPageSchema>
export type Found = Static<typeof UserSchema> & Partial<FoundPage['items'][number]>
export type Details = Static<typeof DetailsSchema>
export type Explanation = Static<typeof ExplanationSchema>
export type Deliveries = Static<typeof DeliveriesSchema>
export type Delivery = Deliveries['items'][number]
export type Retried = Static<typeof RetriedSchema>
export type Health = Static<typeof HealthSchema>
