import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** Maximum number of cached reads. */
const MOST = 1_000

/** Caches reads of a SQLite file until something is committed to it. Cached values must not be changed. */
export class KeptReads<T extends object> {
  readonly #file: Pick<SqliteFile, 'version'>
  readonly #kept = new Map<string, T>()
  #version = Number.NaN

  constructor(file: Pick<SqliteFile, 'version'>) {
    this.#file = file
  }

  /** Returns what `read` returns, or returned since the last commit; `key` identifies the read. */
  read(key: string, read: () => T | undefined): T | undefined {
    // Taken before the read, so that a commit in between counts as a change.
    const version = this.#file.version()
    if (version !== this.#version || this.#kept.size >= MOST) this.#kept.clear()
    this.#version = version
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const reading = read()
    if (reading !== undefined) this.#kept.set(key, reading)
    return reading
  }
}
