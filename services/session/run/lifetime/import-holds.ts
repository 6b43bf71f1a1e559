import { type BlobHold, type BlobStore, HELD_MS } from '#services/session/ports/blob-store.ts'

/** The holds of running imports on blobs that were put in this process. */
export class ImportHolds {
  readonly #blobs: Pick<BlobStore, 'release'>
  readonly #holds = new Map<string, { readonly hold: BlobHold; readonly timer: NodeJS.Timeout }>()

  constructor(blobs: Pick<BlobStore, 'release'>) {
    this.#blobs = blobs
  }

  /** The hold of an import, which is named by the key of what is staged. */
  of(key: string): BlobHold {
    const known = this.#holds.get(key)
    if (known !== undefined) return known.hold
    const hold: BlobHold = { id: `import ${key}`, held: [] }
    this.#holds.set(key, { hold, timer: setTimeout(() => void this.end(key), HELD_MS).unref() })
    return hold
  }

  /** Releases the hold: everything that the import has written is in use by now. */
  async end(key: string): Promise<void> {
    const known = this.#holds.get(key)
    if (known === undefined) return
    this.#holds.delete(key)
    clearTimeout(known.timer)
    // A hold that cannot be released, because the store is unavailable, expires by itself.
    await this.#blobs.release(known.hold).catch(() => {})
  }
}
