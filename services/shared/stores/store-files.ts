import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '#shared/config/config-error.ts'
import type { StoreConfig } from '#shared/config/store-config.ts'
import { makeDataDirectory } from '#shared/stores/data-directory.ts'
import { lockFile } from '#shared/stores/sqlite-database.ts'

/** What the single process keeps in its data folder once it has started there. */
const PARTS = ['identity.sqlite', 'inference.sqlite', 'presets.sqlite', 'session.sqlite', 'blobs']
/** The list of parts that existed together: what is missing later was lost, and must not be created anew. */
const LIST = 'stores.json'
/** Locked by the process that uses the folder; empty, since nothing is ever written to it. */
const LOCK = 'lock'

/**
 * Locks every other server out of the data folder before anything in it is opened, until it is disposed or the process
 * ends, so that a start that is refused changes nothing. The folder is created if it is missing. Throws
 * SqliteBusyError. A MongoDB store has no lock.
 */
export function lockStores(store: StoreConfig): Disposable {
  if (store.kind !== 'sqlite') return { [Symbol.dispose]() {} }
  makeDataDirectory(store.directory, LOCK)
  return lockFile(join(store.directory, LOCK), store.directory)
}

/**
 * Refuses a data folder in which a part is missing or empty that once existed: creating it anew beside the others would
 * hide the loss. The folder is created if it is missing. Throws a ConfigError that says what to do.
 */
export function requireWholeStores(store: StoreConfig): void {
  if (store.kind !== 'sqlite') return
  const { directory } = store
  makeDataDirectory(directory)
  for (const name of PARTS) {
    const path = join(directory, name)
    const size = statSync(path, { throwIfNoEntry: false })?.size
    if (size !== undefined && size > 0) continue
    // A write-ahead log belongs to a file; without a list, the folder may still be in preparation.
    if (!readList(directory).includes(name) && !existsSync(`${path}-wal`)) continue
    if (name === 'blobs' && size !== undefined) continue
    const problem =
      `${path} is ${size === undefined ? 'missing' : 'empty'}, but other parts of the store exist: ` +
      'restore the file, or the whole folder from one backup; or name another folder to start with an empty store'
    throw new ConfigError([{ variable: 'PORTICO_DATA_DIR', problem }])
  }
}

/** Records that every part exists; must be called once all of them were opened. */
export function noteWholeStores(store: StoreConfig): void {
  if (store.kind !== 'sqlite' || readList(store.directory).length === PARTS.length) return
  writeFileSync(join(store.directory, LIST), `${JSON.stringify(PARTS)}\n`, { mode: 0o600 })
}

function readList(directory: string): readonly string[] {
  try {
    return JSON.parse(readFileSync(join(directory, LIST), 'utf8')) as string[]
  } catch {
    return []
  }
}
