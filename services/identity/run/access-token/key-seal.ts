import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { ConfigError } from '#shared/config/config-error.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface EncryptionKeys {
  /** 32 bytes each, in base64: the first encrypts, all of them decrypt. */
  readonly keys: readonly string[]
  /** The setting or the file, for errors. */
  readonly source: string
}

/** A decrypted key, and whether it was encrypted with the first of the keys. */
export interface Unsealed {
  readonly bytes: Buffer
  readonly isCurrent: boolean
}

/**
 * Encrypts private keys for the store (AES-256-GCM), each bound to its `kid`, so that it cannot be passed off as
 * another.
 */
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

  /** Undefined: none of the keys decrypts it. */
  open(kid: string, sealed: Uint8Array): Unsealed | undefined {
    for (const [index, key] of this.#keys.entries()) {
      const bytes = decrypt(key, kid, sealed)
      if (bytes !== undefined) return { bytes, isCurrent: index === 0 }
    }
    return undefined
  }

  /** The error of a start if none of the keys decrypts what is stored. */
  wrong(): ConfigError {
    return new WrongKeyError(this.#source)
  }
}

/** The signing keys were encrypted with another key; the message is one line. */
class WrongKeyError extends ConfigError {
  constructor(source: string) {
    super([{ variable: source, problem: 'is not the key with which the signing keys are encrypted' }])
    this.message =
      `The signing keys in the store are not encrypted with ${source}. To change that key, ` +
      'PORTICO_KEY_ENCRYPTION_KEY must contain the new one and the old one, separated by a comma'
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
