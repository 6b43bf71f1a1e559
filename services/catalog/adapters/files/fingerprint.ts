import type { Stats } from 'node:fs'

/** Changes when a file does; empty: there is none. */
export function fingerprintOf(path: string, stats: Stats | undefined): string {
  return stats?.isFile() ? `${path}\0${stats.ino}\0${stats.mtimeMs}\0${stats.size}` : ''
}
