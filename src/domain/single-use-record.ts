/**
 * A record that works once: a code of an app, or a challenge. Stores read none of its content. With it, a
 * reader of the store could use a stolen code.
 */
export interface SingleUseRecord {
  /** Its kind, and a digest of the texts that find it. */
  readonly key: string
  /** The content, encrypted and bound to `key`. */
  readonly sealed: string
  /** The counter of the open records of its client; `null` for none. */
  readonly share: string | null
  readonly expiresAt: Date
}
