import { realpath } from 'node:fs/promises'
import { isTrusted } from '#services/catalog/domain/configuration.ts'
import { isOutOfDescriptors } from '../files/paths.ts'

/**
 * The directories whose files may name commands, addresses and modules: the user's configuration directory, and those
 * that the operator trusts.
 */
export class TrustedDirectories {
  readonly #directories: readonly string[]

  /** Absolute paths, which need not exist. */
  constructor(directories: readonly string[]) {
    this.#directories = directories
  }

  /** Whether a file or directory is in a trusted directory, by their real paths. A file that does not exist is not. */
  async has(path: string): Promise<boolean> {
    const [real, ...trusted] = await Promise.all([path, ...this.#directories].map(realOf))
    if (real === undefined) return false
    return isTrusted(
      real,
      trusted.flatMap((directory) => directory ?? []),
    )
  }
}

async function realOf(path: string): Promise<string | undefined> {
  try {
    return await realpath(path)
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    return undefined
  }
}
