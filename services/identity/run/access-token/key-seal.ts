import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { ConfigError } from '#shared/config/config-error.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Keys that encrypt other keys, and where they came from. */
export interface EncryptionKeys {
  /** 32 bytes each, in base64: the first encrypts, all of them decrypt. */
  readonly keys: readonly string[]
  /** Names the setting or the file, for errors. */
  readonly source: string
}

/** What was opened, and whether it was encrypted with the first key. */
export interface Unsealed {
  readonly bytes: Buffer
  readonly isCurrent: boolean
}

/** Encrypts private keys for the store (AES-256-GCM), each bound to its `kid`: another key's does not open. */
export class KeySeal {
  readonly #keys: readonly Buffer[]
  readonly #source: string

  constructor({ keys, source }: EncryptionKeys) {
    this.#keys = keys.map((key) => Buffer.from(key, 'base64'))
    this.#source = source
  }

  seal(kid: string, bytes: Uint8Array): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#keys[0] as Buffer, nonce).setAAD(Buffer.from(kid))
    return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  }

  /** Undefined: none of the keys opens it. */
  open(kid: string, sealed: Uint8Array): Unsealed | undefined {
    for (const [index, key] of this.#keys.entries()) {
      const bytes = decrypt(key, kid, sealed)
      if (bytes !== undefined) return { bytes, isCurrent: index === 0 }
    }
    return undefined
  }

  /** What a start is refused with when none of the keys opens what is stored. */
  wrong(): ConfigError {
    return new WrongKeyError(this.#source)
  }
}

/** The signing keys were encrypted with another key; its message is one line. */
class WrongKeyError extends ConfigError {
  constructor(source: string) {
    super([{ variable: source, problem: 'is not the key that the signing keys are encrypted with' }])
    this.message =
      `${source} is not the key that the signing keys in the store are encrypted with. To change that key, ` +
      'PORTICO_KEY_ENCRYPTION_KEY has to hold the new one and the old one, separated by a comma'
  }
}

function decrypt(key: Buffer, kid: string, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = sealed.subarray(0, NONCE_BYTES)
  const body = sealed.subarray(NONCE_BYTES, -TAG_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(kid))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(body), decipher.final()])
  } catch {
    return undefined
  }
}
