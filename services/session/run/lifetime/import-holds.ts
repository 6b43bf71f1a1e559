import { type BlobHold, type BlobStore, HELD_MS } from '#services/session/ports/blob-store.ts'

/** What imports hold of the blobs that they have put here, until they have ended. */
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

  /** Ends it: whatever the import has written is in use by now. */
  async end(key: string): Promise<void> {
    const known = this.#holds.get(key)
    if (known === undefined) return
    this.#holds.delete(key)
    clearTimeout(known.timer)
    // A hold that a store which is away keeps ends by itself.
    await this.#blobs.release(known.hold).catch(() => {})
  }
}
