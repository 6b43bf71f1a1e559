import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isEncryptionKey } from '#services/identity/domain/signing-key.ts'
import { ConfigError } from '#shared/config/config-error.ts'
import { readSecretFile } from '#shared/config/secret-file.ts'

/** The path of a data folder's key. */
export function encryptionKeyPath(directory: string): string {
  return join(directory, 'encryption.key')
}

/**
 * Returns the key, in base64, that the first start in a data folder created, or creates it: of several processes that
 * start at once, one does. Throws a ConfigError of one line if the file contains no key, or if it is missing although
 * something in the store needs it (`isUsed`).
 */
export function folderEncryptionKey(directory: string, isUsed: boolean): string {
  const path = encryptionKeyPath(directory)
  if (!existsSync(path)) {
    if (isUsed)
      throw new FileError(`${path} is missing, which the signing keys in the store are encrypted with: restore it`)
    make(path)
  }
  const key = readKey(path)
  if (!isEncryptionKey(key)) throw new FileError(`${path} holds no encryption key: restore it`)
  return key
}

/** A file cannot be used; the message is one line. */
class FileError extends ConfigError {
  constructor(message: string, options: ErrorOptions = {}) {
    super([{ variable: 'PORTICO_DATA_DIR', problem: message }], options)
    this.message = message
  }
}

function readKey(path: string): string {
  try {
    return readSecretFile(path)
  } catch (error) {
    throw new FileError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** The file is complete and durable before anything is encrypted with the key in it. */
function make(path: string): void {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(draft, path)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(path)) throw error
  } finally {
    rmSync(draft)
  }
  const folder = openSync(join(path, '..'), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
