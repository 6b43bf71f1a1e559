import type { SqliteFile } from '#shared/stores/sqlite.ts'

/** So many are kept at most. */
const MOST = 1_000

/** What was read of a SQLite file, kept for as long as nobody commits anything to it. What is kept must not be changed. */
export class KeptReads<T extends object> {
  readonly #file: Pick<SqliteFile, 'version'>
  readonly #kept = new Map<string, T>()
  #version = Number.NaN

  constructor(file: Pick<SqliteFile, 'version'>) {
    this.#file = file
  }

  /** What `read` returns, or returned since the last commit; `key` names what it looks for. */
  read(key: string, read: () => T | undefined): T | undefined {
    // Before the read: what is committed between the two counts as a change.
    const version = this.#file.version()
    if (version !== this.#version || this.#kept.size >= MOST) this.#kept.clear()
    this.#version = version
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const found = read()
    if (found !== undefined) this.#kept.set(key, found)
    return found
  }
}
