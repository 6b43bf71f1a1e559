import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { AgentDocument } from '#services/catalog/domain/agent.ts'
import { type AgentSet, mergeAgents } from '#services/catalog/domain/agent-merge.ts'
import type { Location } from '#services/catalog/domain/location.ts'
import type { AgentSource } from '#services/catalog/ports/agents.ts'
import type { Offer, OpenSource } from '#services/catalog/ports/source.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isOutOfDescriptors } from '../files/paths.ts'
import { DirectoryWatchers } from '../watch/directory-watchers.ts'
import { PlaceWatch } from '../watch/place-watch.ts'
import { Turns } from '../watch/turns.ts'
import { type AgentFile, findAgentFiles } from './agent-files.ts'
import { readAgentFile } from './read-agent-file.ts'

interface Options {
  /** Global configuration directory. */
  readonly configDirectory: string
  /** Home directory, for `~` in rules. */
  readonly home: string
  readonly logger: Logger
  /** Left out: 4,096 directories at most. */
  readonly watchers?: DirectoryWatchers
}

/** What a file said; undefined: it could not be read. */
type Parsed = AgentDocument | undefined

/** Documents that are kept, of files that belong to several locations or came back. */
const MAX_DOCUMENTS = 4_096

/** Agents of configuration files (instance facts 3.12). */
export class FileAgents implements AgentSource {
  readonly #options: Options
  readonly #watchers: DirectoryWatchers
  readonly #turns = new Turns()
  /** Fingerprint → what the file says. */
  readonly #documents = new LRUCache<string, Promise<{ readonly parsed: Parsed }>>({ max: MAX_DOCUMENTS })

  constructor(options: Options) {
    this.#options = options
    this.#watchers = options.watchers ?? new DirectoryWatchers()
  }

  open(location: Location, changed: () => void): OpenSource<AgentSet> {
    const watch = new PlaceWatch({ watchers: this.#watchers, turns: this.#turns, changed })
    return new LocationAgents(location, { ...this.#options, watch, parse: (file) => this.#parse(file) })
  }

  async #parse(file: AgentFile): Promise<Parsed> {
    let document = this.#documents.get(file.fingerprint)
    if (document === undefined) {
      document = this.#read(file).then((parsed) => ({ parsed }))
      this.#documents.set(file.fingerprint, document)
      document.catch(() => this.#documents.delete(file.fingerprint))
    }
    return (await document).parsed
  }

  async #read(file: AgentFile): Promise<Parsed> {
    const skip = (problem: unknown): void => {
      this.#options.logger.warn({ path: file.path, problem: String(problem) }, 'An agent file was skipped')
    }
    try {
      return await readAgentFile(file, skip)
    } catch (error) {
      // What an agent must not do is not forgotten for a moment's want.
      if (isOutOfDescriptors(error)) throw error
      // Unreadable, too large, no JSON, no YAML, or not of the right form: the others still count.
      skip(error)
      return undefined
    }
  }
}

interface Access extends Pick<Options, 'configDirectory' | 'home'> {
  readonly watch: PlaceWatch
  readonly parse: (file: AgentFile) => Promise<Parsed>
}

/**
 * The agents of one location. The files are looked for at each reading, and read when one of them has changed. One that
 * cannot be read any more may be half written: it counts as it was before.
 */
class LocationAgents implements OpenSource<AgentSet> {
  readonly #location: Location
  readonly #access: Access
  #fingerprint: string | undefined
  #offer: Offer<AgentSet> | undefined
  /** Path → what the file last said. */
  #documents: ReadonlyMap<string, AgentDocument> = new Map()

  constructor(location: Location, access: Access) {
    this.#location = location
    this.#access = access
  }

  async read(): Promise<Offer<AgentSet>> {
    const { configDirectory, home, watch } = this.#access
    const found = await findAgentFiles(configDirectory, this.#location)
    watch.follow(found)
    const fingerprint = found.files.map((file) => file.fingerprint).join('\n')
    if (this.#offer !== undefined && this.#fingerprint === fingerprint) return this.#offer
    const read = await Promise.all(
      found.files.map(async (file) => {
        const document = (await this.#access.parse(file)) ?? this.#documents.get(file.path)
        return document === undefined ? [] : [[file.path, document] as const]
      }),
    )
    const documents = read.flat()
    const value = mergeAgents(
      documents.map(([, document]) => document),
      home,
    )
    const offer = { value, digest: hash('sha256', JSON.stringify(value), 'hex') }
    this.#documents = new Map(documents)
    this.#fingerprint = fingerprint
    this.#offer = offer
    return offer
  }

  [Symbol.dispose](): void {
    this.#access.watch[Symbol.dispose]()
  }
}
