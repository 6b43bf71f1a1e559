import type { ConfigurationDocument } from '#services/catalog/domain/configuration.ts'
import type { Location } from '#services/catalog/domain/location.ts'
import { isObject } from '#shared/json.ts'
import { isOutOfDescriptors } from '../files/paths.ts'
import { readBounded } from '../files/read-bounded.ts'
import type { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { PlaceWatch } from '../watch/place-watch.ts'
import { Turns } from '../watch/turns.ts'
import { type DocumentFile, findDocuments } from './find-documents.ts'
import { MAX_DOCUMENT_BYTES, parseDocument } from './parse-document.ts'
import type { TrustedDirectories } from './trusted-directories.ts'

interface Options {
  /** The user's configuration directory, which is trusted. */
  readonly configDirectory: string
  readonly trusted: TrustedDirectories
  readonly watchers: DirectoryWatchers
}

/** The documents of one location's configuration. Disposing it releases what it watches. */
export interface OpenConfiguration extends Disposable {
  /**
   * The documents at this moment, low precedence first; the same list as long as none has changed. One that cannot be read
   * any more, maybe half written, counts as it was when it was last read, else not at all. May be called again while it reads.
   */
  read(): Promise<readonly ConfigurationDocument[]>
}

/** Reads the documents (`opencode.json`, `opencode.jsonc`) that configure locations, whatever they configure. */
export class Configuration {
  readonly #options: Options
  readonly #turns = new Turns()

  constructor(options: Options) {
    this.#options = options
  }

  /** Begins to look after the documents of a location. `changed` is called, any number of times, when reading may return others. */
  open(location: Location, changed: () => void): OpenConfiguration {
    const watch = new PlaceWatch({ watchers: this.#options.watchers, turns: this.#turns, changed })
    return new LocationDocuments(location, this.#options, watch)
  }
}

class LocationDocuments implements OpenConfiguration {
  readonly #location: Location
  readonly #options: Options
  readonly #watch: PlaceWatch
  #fingerprint: string | undefined
  #documents: readonly ConfigurationDocument[] = []

  constructor(location: Location, options: Options, watch: PlaceWatch) {
    this.#location = location
    this.#options = options
    this.#watch = watch
  }

  async read(): Promise<readonly ConfigurationDocument[]> {
    const { files, places } = await findDocuments(this.#options.configDirectory, this.#location)
    this.#watch.follow({ places, folders: [] })
    const fingerprint = files.map((file) => file.fingerprint).join('\n')
    if (fingerprint === this.#fingerprint) return this.#documents
    const before = this.#documents
    const documents = await Promise.all(
      files.map(async (file) => (await this.#read(file)) ?? before.filter(({ path }) => path === file.path)),
    )
    this.#documents = documents.flat()
    this.#fingerprint = fingerprint
    return this.#documents
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]()
  }

  // Undefined: nothing can be made of it.
  async #read({ path, own }: DocumentFile): Promise<ConfigurationDocument | undefined> {
    const { trusted } = this.#options
    try {
      const value = parseDocument((await readBounded(path, MAX_DOCUMENT_BYTES)).toString())
      if (!isObject(value)) throw new Error('the document is not an object')
      return { path, value, trusted: own || (await trusted.has(path)) }
    } catch (error) {
      if (isOutOfDescriptors(error)) throw error
      // Who reads it for agents reports that, once for all.
      return undefined
    }
  }
}
