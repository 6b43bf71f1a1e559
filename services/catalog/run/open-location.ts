import { hash } from 'node:crypto'
import { Rejection } from '#shared/rejection.ts'
import type { AgentSet } from '../domain/agent-merge.ts'
import type { Location } from '../domain/location.ts'
import type { AgentSource } from '../ports/agents.ts'
import type { Offer, OpenSource } from '../ports/source.ts'
import type { ToolSource, Tools } from '../ports/tools.ts'

/** What a location offers at one time. */
export interface Generation {
  /** The same for the same offer, in every process and whether the location was closed meanwhile or not. */
  readonly id: string
  readonly agents: AgentSet
  readonly tools: Tools
}

/** What locations offer comes from these. */
export interface Sources {
  readonly agents: AgentSource
  readonly tools: ToolSource
}

interface Digests {
  readonly agents: string
  readonly tools: string
}

/** Generations of a location that are kept, the ones that were used last: a step that names another has to begin anew. */
const KEPT_GENERATIONS = 16

/** How long changes are collected before they are looked at, in milliseconds (instance facts 3.12). */
const DEBOUNCE_MS = 100

interface Options {
  readonly sources: Sources
  /** Called when something may have changed: whoever owns the location is to reload it. */
  readonly onSignal: () => void
  /** Called after a reload that found other agents than the one before, or than `before` says. */
  readonly onAgentsUpdated: () => void
  /** What it offered when it was last open. */
  readonly before: Digests | undefined
}

/** A directory in use: its sources are open and watch for changes, and what they offer makes up its generations. */
export class OpenLocation implements Disposable {
  readonly location: Location
  readonly #options: Options
  readonly #agents: OpenSource<AgentSet>
  readonly #tools: OpenSource<Tools>
  /** Id → generation, the one that was used last at the end. */
  readonly #generations = new Map<string, Generation>()
  #digests: Digests | undefined
  /** Reloads that began, and the last of them that counted. */
  #begun = 0
  #counted = 0
  #holders = 0
  #signal: NodeJS.Timeout | undefined

  constructor(location: Location, options: Options) {
    this.location = location
    this.#options = options
    this.#digests = options.before
    const changed = (): void => {
      this.#signal ??= setTimeout(() => {
        this.#signal = undefined
        options.onSignal()
      }, DEBOUNCE_MS).unref()
    }
    this.#agents = options.sources.agents.open(location, changed)
    this.#tools = options.sources.tools.open(location, changed)
  }

  /** What it offered when that was last looked at; undefined: it never was. */
  get digests(): Digests | undefined {
    return this.#digests
  }

  /** Whether a call goes on in it. */
  get held(): boolean {
    return this.#holders > 0
  }

  /** Keeps the location open until what it returns is disposed of. */
  hold(): Disposable {
    this.#holders++
    return { [Symbol.dispose]: () => void this.#holders-- }
  }

  /**
   * The generation with this id, else the present one: what the sources offer at this moment. Rejects with
   * LOCATION_GENERATION_GONE when that id is neither kept nor the present one's.
   */
  async generation(id?: string): Promise<Generation> {
    const kept = id === undefined ? undefined : this.#generations.get(id)
    if (kept !== undefined) return this.#keep(kept)
    const present = await this.reload()
    if (id === undefined || present.id === id) return present
    throw new Rejection('LOCATION_GENERATION_GONE', { directory: this.location.directory, generation: id })
  }

  /** Reads the sources again, and begins a new generation when they offer something else. */
  async reload(): Promise<Generation> {
    const turn = ++this.#begun
    const [agents, tools] = await Promise.all([this.#agents.read(), this.#tools.read()])
    const id = idOf(agents, tools)
    const generation = this.#keep(this.#generations.get(id) ?? { id, agents: agents.value, tools: tools.value })
    // One that began later may have ended earlier, and knows better.
    if (turn < this.#counted) return generation
    this.#counted = turn
    const before = this.#digests
    this.#digests = { agents: agents.digest, tools: tools.digest }
    if (before !== undefined && before.agents !== agents.digest) this.#options.onAgentsUpdated()
    return generation
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#signal)
    this.#agents[Symbol.dispose]()
    this.#tools[Symbol.dispose]()
  }

  #keep(generation: Generation): Generation {
    this.#generations.delete(generation.id)
    this.#generations.set(generation.id, generation)
    const [oldest] = this.#generations.keys()
    if (this.#generations.size > KEPT_GENERATIONS && oldest !== undefined) this.#generations.delete(oldest)
    return generation
  }
}

function idOf(agents: Offer<AgentSet>, tools: Offer<Tools>): string {
  return hash('sha256', JSON.stringify([agents.digest, tools.digest]), 'hex').slice(0, 32)
}
