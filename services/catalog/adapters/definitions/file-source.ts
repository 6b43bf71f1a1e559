import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Offer, OpenSource, Source } from '#services/catalog/ports/source.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isOutOfDescriptors } from '../files/paths.ts'
import type { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { PlaceWatch, type WatchedPlaces } from '../watch/place-watch.ts'
import { Turns } from '../watch/turns.ts'

interface DefiningFile {
  readonly path: string
  /** Changes when the file does. */
  readonly fingerprint: string
}

/** How files define one kind of thing. */
export interface Definition<F extends DefiningFile, D, V> {
  /** What such a file is called in the log. */
  readonly name: string
  /** The files that define it for a location, lowest precedence first, and where they were looked for. */
  find(location: Location): Promise<WatchedPlaces & { readonly files: readonly F[] }>
  /**
   * Parses a file; reports what it leaves out, and what is probably a mistake. Throws if the file cannot be used at
   * all.
   */
  parse(file: F, onProblem: (problem: string) => void): Promise<D>
  /** Whether a requested reload fails if this file cannot be used; otherwise it is only skipped. */
  isConfiguration?(file: F): boolean
  /** Merges the documents of the files, in their order. */
  merge(documents: readonly D[], onProblem: (problem: string) => void): V
}

/** The content of a file, or why it cannot be used. */
type Parsed<D> = { readonly document: D } | { readonly problem: string }

interface Options {
  readonly watchers: DirectoryWatchers
  readonly logger: Logger
}

/** How many documents are cached; a file may belong to several locations, or come back. */
const MAX_DOCUMENTS = 4_096

/** For how many locations the last content of their files is cached, so that it is used when they are opened again. */
const MAX_LOCATIONS = 1_024

/**
 * Things that are defined by files. The files are looked for at each read, and parsed if one of them has changed. A
 * file that cannot be parsed any more may be half written, and keeps its last content.
 */
export class FileSource<F extends DefiningFile, D extends object, V> implements Source<V> {
  readonly #definition: Definition<F, D, V>
  readonly #options: Options
  readonly #turns = new Turns()
  /** Fingerprint → content of the file. */
  readonly #documents = new LRUCache<string, Promise<Parsed<D>>>({ max: MAX_DOCUMENTS })

  /** Directory → path → last content of the file. */
  readonly #last = new LRUCache<string, ReadonlyMap<string, D>>({ max: MAX_LOCATIONS })

  constructor(definition: Definition<F, D, V>, options: Options) {
    this.#definition = definition
    this.#options = options
  }

  open(location: Location, changed: () => void): OpenSource<V> {
    const { find, merge, name, isConfiguration = () => false } = this.#definition
    const watch = new PlaceWatch({ watchers: this.#options.watchers, turns: this.#turns, changed })
    const skip = (problem: string): void => {
      this.#options.logger.warn({ directory: location.directory, problem }, `${name} was skipped`)
    }
    return new LocationFiles<F, D, V>({
      watch,
      find: () => find(location),
      isConfiguration,
      parse: (file) => this.#parse(file),
      merge: (documents) => merge(documents, skip),
      last: () => this.#last.get(location.directory) ?? new Map(),
      keep: (documents) => void this.#last.set(location.directory, documents),
    })
  }

  #parse(file: F): Promise<Parsed<D>> {
    let parsed = this.#documents.get(file.fingerprint)
    if (parsed === undefined) {
      parsed = this.#read(file)
      this.#documents.set(file.fingerprint, parsed)
      parsed.catch(() => this.#documents.delete(file.fingerprint))
    }
    return parsed
  }

  async #read(file: F): Promise<Parsed<D>> {
    const { name, parse } = this.#definition
    const report = (problem: string, message: string): void =>
      this.#options.logger.warn({ path: file.path, problem }, message)
    try {
      return {
        document: await parse(file, (problem) => report(problem, `${name} may not work as intended`)),
      }
    } catch (error) {
      // What an agent must not do is not forgotten because of a temporary shortage.
      if (isOutOfDescriptors(error)) throw error
      // Unreadable, too large or malformed: the other files still count.
      report(String(error), `${name} was skipped`)
      return { problem: `${file.path}: ${error instanceof Error ? error.message : String(error)}` }
    }
  }
}

interface Access<F, D, V> {
  readonly watch: PlaceWatch
  readonly find: () => Promise<WatchedPlaces & { readonly files: readonly F[] }>
  readonly isConfiguration: (file: F) => boolean
  readonly parse: (file: F) => Promise<Parsed<D>>
  readonly merge: (documents: readonly D[]) => V
  /** Path → last content of each file. */
  readonly last: () => ReadonlyMap<string, D>
  readonly keep: (documents: ReadonlyMap<string, D>) => void
}

class LocationFiles<F extends DefiningFile, D, V> implements OpenSource<V> {
  readonly #access: Access<F, D, V>
  #fingerprint: string | undefined
  #offer: Offer<V> | undefined

  constructor(access: Access<F, D, V>) {
    this.#access = access
  }

  async read(): Promise<Offer<V>> {
    const { find, isConfiguration, parse, merge, watch, last, keep } = this.#access
    const places = await find()
    watch.follow(places)
    const fingerprint = places.files.map((file) => file.fingerprint).join('\n')
    if (this.#offer !== undefined && this.#fingerprint === fingerprint) return this.#offer
    const read = await Promise.all(places.files.map(async (file) => ({ file, parsed: await parse(file) })))
    const documents = read.flatMap(({ file: { path }, parsed }) => {
      const document = 'document' in parsed ? parsed.document : last().get(path)
      return document === undefined ? [] : [[path, document] as const]
    })
    const problems = read.flatMap(({ file, parsed }) =>
      'problem' in parsed && isConfiguration(file) ? [parsed.problem] : [],
    )
    const value = merge(documents.map(([, document]) => document))
    const offer = { value, digest: hash('sha256', JSON.stringify(value, mapsAsLists), 'hex'), problems }
    keep(new Map(documents))
    this.#fingerprint = fingerprint
    this.#offer = offer
    return offer
  }

  [Symbol.dispose](): void {
    this.#access.watch[Symbol.dispose]()
  }
}

function mapsAsLists(_name: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value
}
