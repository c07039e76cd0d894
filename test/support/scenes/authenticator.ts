import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** The options of `POST …/passkeys/options`. */
export interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id: string }
  readonly user: { readonly id: string }
  readonly excludeCredentials?: readonly object[]
  readonly authenticatorSelection?: object
}

/** The options of `POST …/passkey/options`. */
export interface RequestOptions {
  readonly challenge: string
  readonly rpId: string
}

/** Faults of an authenticator, a browser, or an attacker between them. */
export interface Faults {
  readonly origin?: string
  readonly rpId?: string
  readonly isUserVerified?: boolean
  readonly isDiscoverable?: boolean
  readonly challenge?: string
  readonly userHandle?: string | null
  readonly counter?: number
  readonly crossOrigin?: boolean
  /** Of the attestation; by default `none`. */
  readonly format?: string
}

const sha256 = (text: string | Buffer): Buffer => createHash('sha256').update(text).digest()
const userPresent = 0x01
const userVerified = 0x04
const hasCredential = 0x40

/** A passkey in a program: it does what WebAuthn Level 3 section 6.3 asks of an authenticator, with ES256 and no attestation. */
export class Authenticator {
  readonly #origin: string
  readonly #id = randomBytes(16)
  readonly #key: KeyObject
  readonly #publicKey: Buffer
  #handle = ''
  #counter = 0

  constructor(origin: string) {
    this.#origin = origin
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    // COSE_Key in CBOR (RFC 9052 section 7): {1: 2, 3: -7, -1: 1, -2: x, -3: y}
    const bytes = (text: string) => Buffer.concat([Buffer.from([0x58, 32]), Buffer.from(text, 'base64url')])
    const head = Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21])
    this.#publicKey = Buffer.concat([head, bytes(x), Buffer.from([0x22]), bytes(y)])
  }

  get id(): string {
    return this.#id.toString('base64url')
  }

  create(options: CreationOptions, faults: Faults = {}): object {
    this.#handle = Buffer.from(options.user.id, 'base64url').toString('base64url') // it keeps bytes
    const length = Buffer.alloc(2)
    length.writeUInt16BE(this.#id.length)
    const credential = Buffer.concat([Buffer.alloc(16), length, this.#id, this.#publicKey])
    const data = this.#data(faults.rpId ?? options.rp.id, hasCredential, faults, credential)
    const format = Buffer.from(faults.format ?? 'none')
    // {"fmt": format, "attStmt": {}, "authData": data}
    const size = Buffer.alloc(2)
    size.writeUInt16BE(data.length)
    const attestationObject = Buffer.concat([
      Buffer.from([0xa3, 0x63]),
      Buffer.from('fmt'),
      Buffer.from([0x60 + format.length]),
      format,
      Buffer.from([0x67]),
      Buffer.from('attStmt'),
      Buffer.from([0xa0, 0x68]),
      Buffer.from('authData'),
      Buffer.from([0x59]),
      size,
      data,
    ])
    const clientDataJSON = this.#clientData('webauthn.create', options.challenge, faults)
    return {
      ...this.#credential(),
      response: {
        clientDataJSON: clientDataJSON.toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: { credProps: { rk: faults.isDiscoverable ?? true } },
    }
  }

  get(options: RequestOptions, faults: Faults = {}): object {
    const data = this.#data(faults.rpId ?? options.rpId, 0, faults)
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, faults)
    const signature = sign('sha256', Buffer.concat([data, sha256(clientDataJSON)]), this.#key)
    return {
      ...this.#credential(),
      response: {
        clientDataJSON: clientDataJSON.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: faults.userHandle === undefined ? this.#handle : faults.userHandle,
      },
      clientExtensionResults: {},
    }
  }

  #credential() {
    return { id: this.id, rawId: this.id, type: 'public-key' }
  }

  #data(
    rpId: string,
    flags: number,
    { isUserVerified = true, counter }: Faults,
    more: Buffer = Buffer.alloc(0),
  ): Buffer {
    const count = Buffer.alloc(4)
    this.#counter = counter ?? this.#counter
    count.writeUInt32BE(this.#counter)
    const all = flags | userPresent | (isUserVerified ? userVerified : 0)
    return Buffer.concat([sha256(rpId), Buffer.from([all]), count, more])
  }

  #clientData(
    type: string,
    challenge: string,
    { origin = this.#origin, challenge: other = challenge, crossOrigin = false }: Faults,
  ): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge: other, origin, crossOrigin }))
  }
}
