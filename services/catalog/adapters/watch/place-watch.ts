import { basename, dirname } from 'node:path'
import type { DirectoryWatchers, Watch } from './directory-watchers.ts'
import type { Turns } from './turns.ts'

/** Where something may be defined. */
export interface WatchedPlaces {
  /** Every directory and file that was looked for, existing or not, by its own name. */
  readonly places: readonly string[]
  /** Those of the places, existing or not, in which every file matters. */
  readonly folders: readonly string[]
}

interface Options {
  readonly watchers: DirectoryWatchers
  readonly turns: Turns
  /** Something may have changed. */
  readonly changed: () => void
}

/**
 * Watches the places where something of one location may be defined: the directories that contain them and, for missing
 * ones, the nearest existing parent. If that is impossible, it signals periodically. Targets of links outside of these
 * directories are not watched.
 */
export class PlaceWatch implements Disposable {
  readonly #options: Options
  #held: Disposable[] = []
  /** What is watched, as last passed to `#follow`. */
  #places: string | undefined
  #following: Promise<void> | undefined
  #disposed = false

  constructor(options: Options) {
    this.#options = options
  }

  /** Watches these places from now on. Costs nothing while they are the same and no watch has ended. */
  follow(watched: WatchedPlaces): void {
    const places = watched.places.join('\0')
    if (this.#disposed || places === this.#places || this.#following !== undefined) return
    this.#places = places
    this.#following = this.#watchAll(watched).finally(() => {
      this.#following = undefined
      // Nobody watched while they were looked for.
      this.#options.changed()
    })
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    this.#release(this.#held)
  }

  async #watchAll({ places, folders }: WatchedPlaces): Promise<void> {
    const former = this.#held
    this.#held = []
    /** Directory → names in it that matter; undefined: every name. */
    const wanted = new Map<string, Set<string> | undefined>(folders.map((folder) => [folder, undefined]))
    const want = (path: string): void => {
      const directory = dirname(path)
      const names = wanted.has(directory) ? wanted.get(directory) : new Set<string>()
      names?.add(basename(path))
      wanted.set(directory, names)
    }
    for (const place of places) want(place)
    const watchOne = (directory: string, names: ReadonlySet<string> | undefined): Promise<Watch> =>
      this.#options.watchers.watch(directory, (name) => this.#observe(names, name))
    const missing: string[] = []
    // A missing directory is watched for in its parent, which the loop reaches later.
    for (const [directory, names] of wanted) {
      const watch = await watchOne(directory, names)
      if (watch === 'missing' && dirname(directory) !== directory) {
        missing.push(directory)
        want(directory)
      }
      if (!this.#keep(watch)) break
    }
    // A directory that was created before its parent was watched.
    for (const directory of missing) this.#keep(await watchOne(directory, wanted.get(directory)))
    this.#release(former)
  }

  /** Whether to continue. */
  #keep(watch: Watch): boolean {
    if (watch === 'missing') return !this.#disposed
    const held = watch === 'unavailable' ? this.#options.turns.add(this.#options.changed) : watch
    if (this.#disposed) held[Symbol.dispose]()
    else this.#held.push(held)
    return watch !== 'unavailable' && !this.#disposed
  }

  #observe(names: ReadonlySet<string> | undefined, name: string | undefined): void {
    if (name !== undefined && names?.has(name) === false) return
    // The directory of the watch may have been replaced by now; the next check finds out.
    this.#places = undefined
    this.#options.changed()
  }

  #release(held: readonly Disposable[]): void {
    for (const one of held) one[Symbol.dispose]()
  }
}
