import { readFile, stat } from 'node:fs/promises'
import { secretIn } from '#shared/config/secret-file.ts'
import type { Logger } from '#shared/telemetry/logging.ts'

/** How many earlier keys are remembered, to be removed from errors that come late. */
const MAX_USED = 3

/**
 * A provider's key. A key from a file follows the file: at each use its inode, size and times are compared, and if they
 * differ it is read again. While the file is missing or contains no key, the last key stays in use; that is logged
 * once.
 */
export class ApiKey {
  /** The current key and the ones before it. */
  secrets: readonly string[]
  readonly #file: string | undefined
  readonly #logger: Logger
  #key: string
  #version = ''
  #problem = false

  constructor(key: string, file: string | undefined, logger: Logger) {
    this.#key = key
    this.secrets = [key]
    this.#file = file
    this.#logger = logger
  }

  /** The key to send now. Never fails. */
  async current(): Promise<string> {
    if (this.#file !== undefined) await this.#follow(this.#file)
    return this.#key
  }

  async #follow(path: string): Promise<void> {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
      const version = [dev, ino, size, mtimeNs, ctimeNs].join()
      if (version === this.#version) return
      const key = secretIn(await readFile(path, 'utf8'))
      if (key === undefined) throw new Error('it does not contain exactly one line of text')
      this.#version = version
      this.#problem = false
      if (key === this.#key) return
      this.#key = key
      this.secrets = [key, ...this.secrets].slice(0, MAX_USED)
      this.#logger.info({ path }, 'Using the key that the file contains now')
    } catch (error) {
      if (this.#problem) return
      this.#problem = true
      const problem = error instanceof Error ? error.message : String(error)
      this.#logger.warn({ path, problem }, 'The file of a key cannot be used: the last key remains in use')
    }
  }
}
