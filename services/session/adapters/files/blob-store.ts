import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BlobRef } from '#services/session/domain/message.ts'
import type { BlobStore } from '#services/session/ports/blob-store.ts'
import { randomText } from '#shared/ids.ts'
import { isHash, refOf } from '../common/blob-content.ts'

/**
 * Blobs as files, `<directory>/<workspace>/<hash>`. A file of that name is complete: it is written beside, synced and
 * renamed. What a crash left half written is removed at the next opening, so open the session's SQLite file first: it
 * keeps other processes out.
 */
export async function openFileBlobStore(options: { readonly directory: string }): Promise<BlobStore> {
  const store = new FileBlobStore(options.directory)
  await store.clear()
  return store
}

class FileBlobStore implements BlobStore {
  readonly #directory: string
  readonly #unfinished: string

  constructor(directory: string) {
    this.#directory = directory
    this.#unfinished = join(directory, 'unfinished')
  }

  async clear(): Promise<void> {
    await rm(this.#unfinished, { recursive: true, force: true })
    await mkdir(this.#unfinished, { recursive: true, mode: 0o700 })
  }

  async put(workspace: string, data: Uint8Array): Promise<BlobRef> {
    const ref = refOf(data)
    const path = this.#path(workspace, ref.hash)
    if (!(await exists(path))) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await syncDirectory(this.#directory)
      const unfinished = join(this.#unfinished, randomText(16))
      try {
        await writeSynced(unfinished, data)
        await rename(unfinished, path)
      } catch (error) {
        await rm(unfinished, { force: true })
        throw error
      }
    }
    // Also where it was there: whoever renamed it may not have come so far yet.
    await syncDirectory(dirname(path))
    return ref
  }

  async get(workspace: string, hash: string): Promise<Uint8Array | undefined> {
    if (!isHash(hash)) return undefined
    try {
      return await readFile(this.#path(workspace, hash))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #path(workspace: string, hash: string): string {
    if (!/^wrk_[A-Za-z0-9_-]+$/.test(workspace)) throw new RangeError('A workspace id cannot be a folder name')
    return join(this.#directory, workspace, hash)
  }
}

async function writeSynced(path: string, data: Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  await file.writeFile(data)
  await file.sync()
}

/** Makes the names in a directory durable. Windows does so by itself, and can't open one. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  await using directory = await open(path, 'r')
  await directory.sync()
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
