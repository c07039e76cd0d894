import { Unavailable } from '../../domain/refusal.ts'
import type { SingleUseRecord } from '../../domain/single-use-record.ts'
import type { KeyRing } from '../ports/key-ring.ts'
import type { Limiter } from '../ports/stores/limiter.ts'
import type { SingleUseRecords } from '../ports/stores/single-use-records.ts'
import { giveBackShare, takeShare } from './open-share.ts'

/** The needs of a use case that keeps records which work once. */
export interface SingleUseNeeds {
  singleUseRecords: SingleUseRecords
  keyRing: KeyRing
  /** 43 characters, 256 random bits. */
  newToken: () => string
  limiter: Limiter
  maxSingleUseRecords: number
  readonly clock: () => Date
}

/** A record that one caller has taken. */
export interface Taken<Content extends object> extends Omit<SingleUseRecord, 'sealed'> {
  readonly content: Content
}

/** One kind of records that work once. Its name begins the keys, so that no text finds a record of another kind. */
export class SingleUseKind<Content extends object> {
  readonly #name: string
  readonly #seconds: number
  readonly #part: number

  /** @param kind.part of `maxSingleUseRecords`: a record is stored while there are fewer, of all kinds together */
  constructor(name: string, { seconds, part = 1 }: { seconds: number; part?: number }) {
    this.#name = name
    this.#seconds = seconds
    this.#part = part
  }

  /**
   * Throws `LimitReached` if the client has too many open, and `Unavailable` if the store has no free place.
   *
   * @param foundBy the texts that find it
   * @param client `null` if unknown
   */
  async open(needs: SingleUseNeeds, foundBy: readonly unknown[], content: Content, client: string | null) {
    const share = await takeShare(needs, client)
    if ((await this.put(needs, foundBy, content, share)) === 'full') this.#throwFull()
  }

  async put(
    needs: Pick<SingleUseNeeds, 'singleUseRecords' | 'keyRing' | 'maxSingleUseRecords' | 'clock'>,
    foundBy: readonly unknown[],
    content: Content,
    share: string | null,
  ): Promise<'stored' | 'full'> {
    const expiresAt = new Date(needs.clock().getTime() + this.#seconds * 1000)
    return await this.#store(needs, { key: this.#keyOf(needs, foundBy), content, share, expiresAt })
  }

  /** Lets it be taken again, until its former end. Throws `Unavailable` if the store has no free place. */
  async giveBack(
    needs: Pick<SingleUseNeeds, 'singleUseRecords' | 'keyRing' | 'maxSingleUseRecords'>,
    taken: Taken<Content>,
  ): Promise<void> {
    if ((await this.#store(needs, taken)) === 'full') this.#throwFull()
  }

  /** One of any number of concurrent callers gets it. `null`: it is unknown, expired or used. Its client keeps the share. */
  async take(
    needs: Pick<SingleUseNeeds, 'singleUseRecords' | 'keyRing'>,
    foundBy: readonly unknown[],
  ): Promise<Taken<Content> | null> {
    const record = await needs.singleUseRecords.take(this.#keyOf(needs, foundBy))
    if (record === null) return null
    const { sealed, ...rest } = record
    const content = needs.keyRing.unsealRecord(sealed, record.key) as Content | null // safe: `#store` sealed it for this key
    return content && { ...rest, content }
  }

  /** As `take`, and gives back the share of its client. */
  async use(
    needs: Pick<SingleUseNeeds, 'singleUseRecords' | 'keyRing' | 'limiter'>,
    foundBy: readonly unknown[],
  ): Promise<Taken<Content> | null> {
    const taken = await this.take(needs, foundBy)
    if (taken !== null) await giveBackShare(needs, taken.share)
    return taken
  }

  async #store(
    { singleUseRecords, keyRing, maxSingleUseRecords }: Parameters<typeof this.giveBack>[0],
    { key, content, share, expiresAt }: Taken<Content>,
  ): Promise<'stored' | 'full'> {
    const record = { key, sealed: keyRing.sealRecord(content, key), share, expiresAt }
    return await singleUseRecords.put(record, Math.floor(this.#part * maxSingleUseRecords))
  }

  #keyOf({ keyRing }: { keyRing: KeyRing }, foundBy: readonly unknown[]): string {
    return [this.#name, keyRing.digest(JSON.stringify(foundBy))].join(':')
  }

  #throwFull(): never {
    throw new Unavailable('too many open codes and challenges', { retryAfterSeconds: 5 })
  }
}
