import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { BlobRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type BlobHold, type BlobStore, HELD_MS } from '#services/session/ports/blob-store.ts'
import { systemClock } from '#shared/clock.ts'
import { randomText } from '#shared/ids.ts'
import { makeDataDirectory } from '#shared/stores/data-directory.ts'
import { hashOf, isHash, refOf } from '../common/blob-content.ts'
import type { BlobKey } from '../tables/blobs.ts'
import { isIntact, isRegular, readRegular, replaceBy, syncDirectory, writeSynced } from './blob-file.ts'

export interface BlobUses {
  isUsed(key: BlobKey): boolean
  /** Records durably that a blob may be unused. */
  note(key: BlobKey): Promise<void>
  /** Blobs that may be unused, after one of them, in a fixed order. */
  loose(after: BlobKey | undefined, limit: number): readonly BlobKey[]
  /** Records durably which of them are used; returns the others. */
  settle(keys: readonly BlobKey[]): Promise<readonly BlobKey[]>
  /** The blob has been deleted. */
  forget(key: BlobKey): Promise<void>
}

export interface FileBlobOptions {
  readonly directory: string
  readonly uses: BlobUses
}

/**
 * Blobs as files, `<directory>/<workspace>/<hash>`. A file with such a name is complete: it is written under another
 * name, synced and renamed. If it is damaged later, it counts as missing until the same content is put again. What a
 * crash left unfinished is removed when the store is opened, so open the session's SQLite file first: it keeps other
 * processes out. Rejects with ConfigError if the folder cannot be used.
 */
export async function openFileBlobStore(options: FileBlobOptions): Promise<BlobStore> {
  const store = new FileBlobStore(options)
  await store.clear()
  return store
}

/** How many blobs to delete at once. */
const SWEPT = 20
/** How many blobs to look at, or to release, in one turn of the event loop. */
const LOOKED = 200

class FileBlobStore implements BlobStore {
  readonly #directory: string
  readonly #unfinished: string
  readonly #uses: BlobUses
  /** The holds of each file, by its path, and when they expire, in monotonic time. They end with the process. */
  readonly #held = new Map<string, Map<string, number>>()
  /** Files that are being deleted. */
  readonly #dying = new Map<string, Promise<void>>()
  /**
   * The last blob that a sweep has looked at. The next sweep continues there, and does not begin with held blobs again.
   */
  #last: BlobKey | undefined

  constructor({ directory, uses }: FileBlobOptions) {
    this.#uses = uses
    this.#directory = directory
    this.#unfinished = join(directory, 'unfinished')
  }

  async clear(): Promise<void> {
    makeDataDirectory(this.#directory)
    await rm(this.#unfinished, { recursive: true, force: true })
    await mkdir(this.#unfinished, { recursive: true, mode: 0o700 })
  }

  async put(workspace: string, data: Uint8Array, hold: BlobHold): Promise<BlobRef> {
    const ref = refOf(data)
    const key = { workspace, hash: ref.hash }
    const path = this.#path(key)
    const holders = this.#held.get(path) ?? new Map<string, number>()
    this.#held.set(path, holders.set(hold.id, systemClock.monotonic() + HELD_MS))
    hold.held.push(key)
    await this.#dying.get(path)
    // So that it is found if nothing ever uses it.
    if (!this.#uses.isUsed(key)) await this.#uses.note(key)
    if (!(await isIntact(path, data))) {
      // Somebody may have removed the folder.
      for (const folder of [this.#unfinished, dirname(path)]) await mkdir(folder, { recursive: true, mode: 0o700 })
      await syncDirectory(this.#directory)
      const unfinished = join(this.#unfinished, randomText(16))
      try {
        await writeSynced(unfinished, data)
        await replaceBy(path, unfinished)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
    }
    // Even if the file was there: whoever renamed it may not have synced the folder yet.
    await syncDirectory(dirname(path))
    return ref
  }

  async get(workspace: string, hash: string): Promise<Uint8Array | undefined> {
    if (!isHash(hash)) return undefined
    const data = await readRegular(this.#path({ workspace, hash }))
    return data !== undefined && (await hashOf(data)) === hash ? data : undefined
  }

  async has(workspace: string, hash: string): Promise<boolean> {
    return isHash(hash) && (await isRegular(this.#path({ workspace, hash })))
  }

  async release({ id, held }: BlobHold): Promise<void> {
    for (const [i, { workspace, hash }] of held.splice(0).entries()) {
      if (i % LOOKED === LOOKED - 1) await setImmediate()
      const path = this.#path({ workspace, hash })
      const holders = this.#held.get(path)
      holders?.delete(id)
      if (holders?.size === 0) this.#held.delete(path)
    }
  }

  async sweep(): Promise<boolean> {
    let swept = 0
    while (swept < SWEPT) {
      const keys = this.#uses.loose(this.#last, LOOKED)
      if (keys.length === 0) {
        this.#last = undefined
        return false
      }
      const loose = await this.#uses.settle(keys.filter((key) => !this.#isHeld(this.#path(key))))
      const some = loose.slice(0, SWEPT)
      swept += some.length
      this.#last = some.length < loose.length ? some.at(-1) : keys.at(-1)
      const failed = await this.#sweepAll(some)
      // The next sweep continues after it.
      if (failed !== undefined) throw failed.error
      // Others have a turn, however many blobs are held.
      await setImmediate()
    }
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** A blob that cannot be deleted does not keep the others from it; returns the first error. */
  async #sweepAll(keys: readonly BlobKey[]): Promise<{ readonly error: unknown } | undefined> {
    let failed: { readonly error: unknown } | undefined
    for (const key of keys) {
      await this.#sweep(key).catch((error: unknown) => {
        failed ??= { error }
      })
    }
    return failed
  }

  /** Nobody can begin to hold or use the blob between this check and the mark. */
  async #sweep(key: BlobKey): Promise<void> {
    const path = this.#path(key)
    if (this.#dying.has(path) || this.#isHeld(path) || this.#uses.isUsed(key)) return
    const gone = this.#delete(path, key).finally(() => this.#dying.delete(path))
    this.#dying.set(
      path,
      gone.catch(() => {}),
    )
    await gone
  }

  #isHeld(path: string): boolean {
    const holders = this.#held.get(path)
    if (holders === undefined) return false
    const now = systemClock.monotonic()
    return holders.values().some((until) => until > now)
  }

  async #delete(path: string, key: BlobKey): Promise<void> {
    await rm(path, { force: true, recursive: true })
    await this.#uses.forget(key)
  }

  #path({ workspace, hash }: BlobKey): string {
    if (!/^wrk_[A-Za-z0-9_-]+$/.test(workspace)) throw new RangeError('A workspace id cannot be a folder name')
    return join(this.#directory, workspace, hash)
  }
}
