import { hash } from 'node:crypto'
import type { Location, Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Tools } from '../ports/tools.ts'
import {
  type Digests,
  EVENTS,
  type Generation,
  KINDS,
  type LocationOffer,
  type Sources,
  UPDATES,
} from './generation.ts'
import { joinTools } from './join-tools.ts'

/**
 * How many of a location's most recently used generations are kept: a step that names another one has to begin again.
 * Those that nobody has read are not among them, or sources that change all the time would let no step call a tool.
 */
const KEPT_GENERATIONS = 16

/** How long changes are collected before they are read, in milliseconds. */
const DEBOUNCE_MS = 100

interface Options {
  readonly sources: Sources
  /** The tools with which a model reads skills. */
  readonly skillTools: (skills: readonly Skill[]) => Tools
  /** Called when something may have changed, so that the owner reloads the location. */
  readonly onSignal: () => void
  /** Called after a reload that found something else than the previous one, or than `before`. */
  readonly onUpdate: (change: CatalogEvent['event']) => void
  /** What it offered when it was last open. */
  readonly before: Digests | undefined
  readonly clock: Clock
}

/** What each kind of source is once it is open. */
type OpenSources = { readonly [K in keyof Sources]: ReturnType<Sources[K]['open']> }

/** A directory in use: its sources are open and watch for changes, and their offers form its generations. */
export class OpenLocation implements Disposable {
  readonly location: Location
  /** Monotonic time at which it was last used. */
  usedAt: number
  readonly #options: Options
  readonly #sources: OpenSources
  /** Id → generation, the most recently used one last. */
  readonly #generations = new Map<string, Generation>()
  #digests: Digests | undefined
  #problems: readonly string[] = []
  /** Numbers of the last reload that began, and of the last one whose result counted. */
  #begun = 0
  #counted = 0
  #uses = 0
  #retired = false
  #signal: NodeJS.Timeout | undefined

  constructor(location: Location, options: Options) {
    this.location = { ...location }
    this.#options = options
    this.#digests = options.before
    this.usedAt = options.clock.monotonic()
    const changed = (): void => {
      if (this.#retired) return
      this.#signal ??= setTimeout(() => {
        this.#signal = undefined
        options.onSignal()
      }, DEBOUNCE_MS).unref()
    }
    const { agents, skills, instructions, plugins, tools } = options.sources
    this.#sources = {
      agents: agents.open(this.location, changed),
      skills: skills.open(this.location, changed),
      instructions: instructions.open(this.location, changed),
      plugins: plugins.open(this.location, changed),
      tools: tools.open(this.location, changed),
    }
  }

  /** What it offered when it was last read; undefined: it never was. */
  get digests(): Digests | undefined {
    return this.#digests
  }

  /** Why configuration could not be read the last time, so that its last content applies. */
  get problems(): readonly string[] {
    return this.#problems
  }

  /** Whether a call is in progress in it. */
  get inUse(): boolean {
    return this.#uses > 0
  }

  /** Keeps the location open until the returned object is disposed. */
  use(): Disposable {
    this.#uses++
    return {
      [Symbol.dispose]: () => {
        this.#uses--
        this.usedAt = this.#options.clock.monotonic()
        if (this.#retired && this.#uses === 0) this[Symbol.dispose]()
      },
    }
  }

  /**
   * Closes the location once no call is in progress in it any more. It reports no changes from now on, since another
   * one may be in its place.
   */
  retire(): void {
    this.#retired = true
    clearTimeout(this.#signal)
    if (this.#uses === 0) this[Symbol.dispose]()
  }

  /**
   * The generation with this id, or the present one, which is what the sources offer at this moment. Rejects with
   * LOCATION_GENERATION_GONE if the id is neither that of a kept generation nor the present one's. `start`: as for
   * reading sources.
   */
  async generation(id?: string, start = false): Promise<Generation> {
    using _ = this.use()
    const kept = id === undefined ? undefined : this.#generations.get(id)
    if (kept !== undefined) return this.#keep(kept)
    // A caller that names a generation has seen what was started.
    const present = await this.reload(start || id !== undefined)
    if (id === undefined || present.id === id) return this.#keep(present)
    throw new Rejection('LOCATION_GENERATION_GONE', { directory: this.location.directory, generation: id })
  }

  /** Reads the sources again, and begins a new generation if their offers have changed. */
  async reload(start = false): Promise<Generation> {
    const turn = ++this.#begun
    const [agents, skills, instructions, plugins, tools] = await Promise.all([
      this.#sources.agents.read(start),
      this.#sources.skills.read(start),
      this.#sources.instructions.read(start),
      this.#sources.plugins.read(start),
      this.#sources.tools.read(start),
    ])
    const offers = { agents, skills, instructions, plugins, tools }
    const digests: Digests = new Map(KINDS.map((kind) => [kind, offers[kind].digest]))
    const id = hash('sha256', JSON.stringify([...digests]), 'hex').slice(0, 32)
    const offer = {
      agents: agents.value,
      skills: skills.value,
      instructions: instructions.value,
      plugins: plugins.value,
      tools: tools.value,
    }
    const generation = this.#generations.get(id) ?? this.#begin(id, offer)
    // A reload that began later has ended earlier, and its result is newer.
    if (turn < this.#counted || this.#retired) return generation
    this.#counted = turn
    this.#problems = KINDS.flatMap((kind) => offers[kind].problems ?? [])
    const before = this.#digests
    this.#digests = digests
    for (const kind of KINDS) {
      const change = UPDATES[kind]
      if (change === undefined || before === undefined || before.get(kind) === digests.get(kind)) continue
      this.#options.onUpdate(change)
      const event = change.case && EVENTS[change.case]
      if (event !== undefined) generation.plugins.emit(event, {})
    }
    return generation
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#signal)
    for (const source of Object.values(this.#sources)) source[Symbol.dispose]()
  }

  #begin(id: string, offer: LocationOffer): Generation {
    const { skills, tools } = offer
    return { id, ...offer, tools: skills.length === 0 ? tools : joinTools([this.#options.skillTools(skills), tools]) }
  }

  #keep(generation: Generation): Generation {
    this.#generations.delete(generation.id)
    this.#generations.set(generation.id, generation)
    const [oldest] = this.#generations.keys()
    if (this.#generations.size > KEPT_GENERATIONS && oldest !== undefined) this.#generations.delete(oldest)
    return generation
  }
}
