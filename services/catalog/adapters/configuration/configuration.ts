import { LRUCache } from 'lru-cache'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { ConfigurationDocument } from '#services/catalog/domain/configuration.ts'
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
  /** The values of `{env:NAME}` in trusted documents. */
  readonly variable: Variable
}

type LastDocuments = LRUCache<string, readonly ConfigurationDocument[]>

/** How many locations' documents are cached. */
const MAX_LOCATIONS = 1_024

/** The documents of one location's configuration. Disposing it ends its watches. */
export interface OpenConfiguration extends Disposable {
  /**
   * The documents at this moment, lowest precedence first; the same list as long as none has changed. A document that
   * cannot be read any more, perhaps because it is half written, keeps its last content, if there is any. May be called
   * again while it reads.
   */
  read(): Promise<readonly ConfigurationDocument[]>
}

/** Reads the documents that configure locations (`opencode.json`, `opencode.jsonc`), whatever they configure. */
export class Configuration {
  readonly #options: Options
  readonly #turns = new Turns()
  /** Directory → its documents as last read, which are used when it is opened again. */
  readonly #last: LastDocuments = new LRUCache({ max: MAX_LOCATIONS })

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Opens the configuration of a location. `changed` is called, any number of times, when reading may return other
   * documents.
   */
  open(location: Location, changed: () => void): OpenConfiguration {
    const watch = new PlaceWatch({ watchers: this.#options.watchers, turns: this.#turns, changed })
    return new LocationDocuments(location, { ...this.#options, last: this.#last, watch })
  }
}

interface Access extends Options {
  readonly last: LastDocuments
  readonly watch: PlaceWatch
}

class LocationDocuments implements OpenConfiguration {
  readonly #location: Location
  readonly #access: Access
  #fingerprint: string | undefined
  #documents: readonly ConfigurationDocument[]
  /** Numbers of the last read that began, and of the last one whose result counted. */
  #begun = 0
  #counted = 0

  constructor(location: Location, access: Access) {
    this.#location = location
    this.#access = access
    this.#documents = access.last.get(location.directory) ?? []
  }

  async read(): Promise<readonly ConfigurationDocument[]> {
    const turn = ++this.#begun
    const { files, places } = await findDocuments(this.#access.configDirectory, this.#location)
    this.#access.watch.follow({ places, folders: [] })
    const fingerprint = files.map((file) => file.fingerprint).join('\n')
    if (fingerprint === this.#fingerprint) return this.#documents
    const before = this.#documents
    const documents = await Promise.all(
      files.map(async (file) => (await this.#read(file)) ?? before.filter(({ path }) => path === file.path)),
    )
    // A read that began later has ended earlier, and its result is newer.
    if (turn < this.#counted) return this.#documents
    this.#counted = turn
    this.#documents = documents.flat()
    this.#access.last.set(this.#location.directory, this.#documents)
    this.#fingerprint = fingerprint
    return this.#documents
  }

  [Symbol.dispose](): void {
    this.#access.watch[Symbol.dispose]()
  }

  // Undefined: the document cannot be used.
  async #read({ path, own }: DocumentFile): Promise<ConfigurationDocument | undefined> {
    const { trusted, variable } = this.#access
    try {
      const value = parseDocument((await readBounded(path, MAX_DOCUMENT_BYTES)).toString())
      if (!isObject(value)) throw new Error('the document is not an object')
      if (!own && !(await trusted.has(path))) return { path, value, trusted: false }
      return { path, value: withVariables(value, variable), trusted: true }
    } catch (error) {
      if (isOutOfDescriptors(error)) throw error
      // The reader of agents reports that, once for everybody.
      return undefined
    }
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Returns an environment variable; undefined: it is not set. */
type Variable = (name: string) => string | undefined

const VARIABLE = /\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g

/**
 * Replaces `{env:NAME}` in all texts of a value by the variable of that name, like OpenCode; a name that is not set
 * stays unchanged.
 */
function withVariables(fields: Fields, variable: Variable): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, expand(value, variable)]))
}

function expand(value: unknown, variable: Variable): unknown {
  if (typeof value === 'string') return value.replace(VARIABLE, (text, name) => variable(name) ?? text)
  if (Array.isArray(value)) return value.map((item) => expand(item, variable))
  return isObject(value) ? withVariables(value, variable) : value
}
