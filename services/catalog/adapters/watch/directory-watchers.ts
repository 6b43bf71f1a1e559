import { type FSWatcher, type Stats, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'

/**
 * Called with the name of what changed in a directory; undefined if the system does not report it, or the watch has
 * ended.
 */
export type Listener = (name: string | undefined) => void

/** Ends a watch, or says why there is none. */
export type Watch = Disposable | 'missing' | 'unavailable'

interface Entry {
  readonly watcher: FSWatcher
  readonly listeners: Set<Listener>
}

/** Maximum number of watched directories per process: the system's own limit applies to all processes of a user. */
const MAX_DIRECTORIES = 4_096

/** Watches directories, each once however many callers want it. Never keeps the process alive. */
export class DirectoryWatchers {
  readonly #limit: number
  /** Device and inode → entry: a directory that was created again is a different one. */
  readonly #entries = new Map<string, Entry>()

  constructor(limit = MAX_DIRECTORIES) {
    this.#limit = limit
  }

  /** How many directories are watched. */
  get size(): number {
    return this.#entries.size
  }

  /** Watches the entries of a directory. `unavailable`: the system cannot, or too many are watched already. */
  async watch(directory: string, listener: Listener): Promise<Watch> {
    const stats = await statOf(directory)
    if (!stats?.isDirectory()) return 'missing'
    const key = `${stats.dev}:${stats.ino}`
    const entry = this.#entries.get(key) ?? this.#begin(key, directory)
    if (entry === undefined) return 'unavailable'
    // Wrapped, since one listener may watch a directory twice.
    const own: Listener = (name) => listener(name)
    entry.listeners.add(own)
    return {
      [Symbol.dispose]: () => {
        entry.listeners.delete(own)
        if (entry.listeners.size === 0) this.#end(key, entry)
      },
    }
  }

  #begin(key: string, directory: string): Entry | undefined {
    if (this.#entries.size >= this.#limit) return undefined
    try {
      const watcher = watch(directory, { persistent: false })
      const entry = { watcher, listeners: new Set<Listener>() }
      const emit = (name: string | undefined): void => {
        for (const listener of entry.listeners) listener(name)
      }
      const over = (): void => {
        this.#end(key, entry)
        emit(undefined)
      }
      watcher.on('change', (type, name) => {
        // Its own name means that the directory itself is gone; a new one of that name must be watched anew.
        if (type === 'rename' && name === basename(directory)) over()
        else emit(typeof name === 'string' ? name : undefined)
      })
      watcher.on('error', over)
      this.#entries.set(key, entry)
      return entry
    } catch {
      // The system has no watches, descriptors or support, so the caller has to poll.
      return undefined
    }
  }

  #end(key: string, entry: Entry): void {
    entry.watcher.close()
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}

async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch {
    return undefined
  }
}
