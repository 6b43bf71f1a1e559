import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { fingerprintOf } from './fingerprint.ts'
import { isInside, isOutOfDescriptors } from './paths.ts'

/** A regular file that is there. */
export interface FoundFile {
  readonly path: string
  readonly size: number
  /** Changes when the file does. */
  readonly fingerprint: string
}

/**
 * Looks for a file; with `within`, one that a link leads out of that directory is not found. Throws when the system has no
 * descriptors left to look with.
 */
export async function findFile(path: string, within?: string): Promise<FoundFile | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isFile()) return undefined
  if (within !== undefined && !(await leadsInto(within, path))) return undefined
  return { path, size: stats.size, fingerprint: fingerprintOf(path, stats) }
}

/**
 * What lies in a directory; nothing in one that is missing or cannot be looked into. Throws when the system has no
 * descriptors left: it may well define what an agent must not do.
 */
export async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    return []
  }
}

/** Whether a path leads to something in a directory; what has vanished meanwhile does not. */
async function leadsInto(directory: string, path: string): Promise<boolean> {
  try {
    return isInside(directory, await realpath(path))
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    return false
  }
}
