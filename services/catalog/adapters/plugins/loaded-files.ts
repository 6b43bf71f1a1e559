import { findFile } from '../files/find-file.ts'
import { MAX_FILES } from './host/protocol.ts'

/** The files that a plugin was loaded from, as they were then. */
export class LoadedFiles {
  readonly #fingerprints = new Map<string, string>()

  get paths(): readonly string[] {
    return [...this.#fingerprints.keys()]
  }

  /** Adds a file that a plugin reports; files beyond the maximum are not kept. */
  add(path: string, fingerprint: string): void {
    if (this.#fingerprints.size < MAX_FILES || this.#fingerprints.has(path)) this.#fingerprints.set(path, fingerprint)
  }

  /** Whether one of them has changed. */
  async changed(): Promise<boolean> {
    const same = [...this.#fingerprints].map(
      async ([path, before]) => ((await findFile(path))?.fingerprint ?? '') === before,
    )
    return (await Promise.all(same)).includes(false)
  }
}
