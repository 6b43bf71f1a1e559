import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Location } from '#services/catalog/domain/location.ts'
import type { Offer, OpenSource, Source } from '#services/catalog/ports/source.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isOutOfDescriptors } from '../files/paths.ts'
import type { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { type Places, PlaceWatch } from '../watch/place-watch.ts'
import { Turns } from '../watch/turns.ts'

/** A file that defines something. */
interface DefiningFile {
  readonly path: string
  /** Changes when the file does. */
  readonly fingerprint: string
}

/** How one kind of thing is defined by files. */
export interface Definition<F extends DefiningFile, D, V> {
  /** What a file of it is called in the log. */
  readonly name: string
  /** The files that define it for a location, low precedence first, and where they were looked for. */
  find(location: Location): Promise<Places & { readonly files: readonly F[] }>
  /** What a file says; what it left out, and what may not be meant so, it reports. Throws when nothing can be made of it. */
  parse(file: F, onProblem: (problem: string) => void): Promise<D>
  /** Whether a requested reload fails when nothing can be made of this file; else it is only skipped. */
  isConfiguration?(file: F): boolean
  /** Makes one of what the files say, in their order. */
  merge(documents: readonly D[], onProblem: (problem: string) => void): V
}

/** What a file says, or why nothing can be made of it. */
type Parsed<D> = { readonly document: D } | { readonly problem: string }

interface Options {
  readonly watchers: DirectoryWatchers
  readonly logger: Logger
}

/** Documents that are kept, of files that belong to several locations or came back. */
const MAX_DOCUMENTS = 4_096

/** Locations of which it is kept what their files last said, so that one that is opened again goes on from there. */
const MAX_LOCATIONS = 1_024

/**
 * What files define. They are looked for at each reading, and read when one of them has changed. One that cannot be read any
 * more may be half written: it counts as it was before.
 */
export class FileSource<F extends DefiningFile, D extends object, V> implements Source<V> {
  readonly #definition: Definition<F, D, V>
  readonly #options: Options
  readonly #turns = new Turns()
  /** Fingerprint → what the file says. */
  readonly #documents = new LRUCache<string, Promise<Parsed<D>>>({ max: MAX_DOCUMENTS })

  /** Directory → path → what the file last said. */
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
      // What an agent must not do is not forgotten for a moment's want.
      if (isOutOfDescriptors(error)) throw error
      // Unreadable, too large, or not of the right form: the others still count.
      report(String(error), `${name} was skipped`)
      return { problem: `${file.path}: ${error instanceof Error ? error.message : String(error)}` }
    }
  }
}

interface Access<F, D, V> {
  readonly watch: PlaceWatch
  readonly find: () => Promise<Places & { readonly files: readonly F[] }>
  readonly isConfiguration: (file: F) => boolean
  readonly parse: (file: F) => Promise<Parsed<D>>
  readonly merge: (documents: readonly D[]) => V
  /** Path → what each file last said. */
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
    const found = await find()
    watch.follow(found)
    const fingerprint = found.files.map((file) => file.fingerprint).join('\n')
    if (this.#offer !== undefined && this.#fingerprint === fingerprint) return this.#offer
    const read = await Promise.all(found.files.map(async (file) => ({ file, parsed: await parse(file) })))
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
