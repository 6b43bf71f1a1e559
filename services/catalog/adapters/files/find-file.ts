import type { Dirent, Stats } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { isInside, isOutOfDescriptors } from './paths.ts'

/** An existing regular file. */
export interface ExistingFile {
  readonly path: string
  readonly size: number
  /** Changes when the file does. */
  readonly fingerprint: string
}

/**
 * Finds a file; with `within`, a file that a link leads out of that directory is not found. Throws if the system has no
 * descriptors left.
 */
export async function findFile(path: string, within?: string): Promise<ExistingFile | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats?.isFile()) return undefined
  if (within !== undefined && !(await leadsInto(within, path))) return undefined
  return { path, size: stats.size, fingerprint: fingerprintOf(path, stats) }
}

/**
 * The entries of a directory; none if it is missing or unreadable. Throws if the system has no descriptors left, since
 * the directory may define what an agent must not do.
 */
export async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true })
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    return []
  }
}

/** Whether a path leads to something in a directory; false if it has vanished meanwhile. */
async function leadsInto(directory: string, path: string): Promise<boolean> {
  try {
    return isInside(directory, await realpath(path))
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error
    return false
  }
}

/** Changes when a file does; empty: there is none. */
export function fingerprintOf(path: string, stats: Stats | undefined): string {
  return stats?.isFile() ? `${path}\0${stats.ino}\0${stats.mtimeMs}\0${stats.size}` : ''
}
