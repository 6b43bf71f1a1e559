import { hash } from 'node:crypto'
import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import type { CatalogChange } from '../domain/catalog-event.ts'
import type { Location } from '../domain/location.ts'
import type { Skill } from '../domain/skill.ts'
import type { Offer, OpenSource } from '../ports/source.ts'
import type { Tools } from '../ports/tools.ts'
import { joined } from './join-tools.ts'
import { type Digests, EVENTS, type Generation, type Kind, type Offered, type Sources, UPDATES } from './offered.ts'

const KINDS = Object.keys(UPDATES) as readonly Kind[]

/** Generations of a location that are kept, the ones that were used last: a step that names another has to begin anew. */
const KEPT_GENERATIONS = 16

/** How long changes are collected before they are looked at, in milliseconds (instance facts 3.12). */
const DEBOUNCE_MS = 100

interface Options {
  readonly sources: Sources
  /** The tools by which a model reads skills. */
  readonly skillTools: (skills: readonly Skill[]) => Tools
  /** Called when something may have changed: whoever owns the location is to reload it. */
  readonly onSignal: () => void
  /** Called after a reload that found something else than the one before, or than `before` says. */
  readonly onUpdate: (change: CatalogChange) => void
  /** What it offered when it was last open. */
  readonly before: Digests | undefined
  readonly clock: Clock
}

/** A directory in use: its sources are open and watch for changes, and what they offer makes up its generations. */
export class OpenLocation implements Disposable {
  readonly location: Location
  /** Monotonic time at which it was last used. */
  usedAt: number
  readonly #options: Options
  readonly #sources: readonly (readonly [kind: Kind, source: OpenSource<Offered[Kind]>])[]
  /** Id → generation, the one that was used last at the end. */
  readonly #generations = new Map<string, Generation>()
  #digests: Digests | undefined
  #problems: readonly string[] = []
  /** Reloads that began, and the last of them that counted. */
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
    this.#sources = KINDS.map((kind) => [kind, options.sources[kind].open(this.location, changed)])
  }

  /** What it offered when that was last looked at; undefined: it never was. */
  get digests(): Digests | undefined {
    return this.#digests
  }

  /** Why configuration could not be read when it was last looked at: what it said before counts. */
  get problems(): readonly string[] {
    return this.#problems
  }

  /** Whether a call goes on in it. */
  get inUse(): boolean {
    return this.#uses > 0
  }

  /** Keeps the location open until what it returns is disposed of. */
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

  /** Closes the location once no call goes on in it any more. It says nothing of changes from now on: another one may be in its place. */
  retire(): void {
    this.#retired = true
    clearTimeout(this.#signal)
    if (this.#uses === 0) this[Symbol.dispose]()
  }

  /**
   * The generation with this id, else the present one: what the sources offer at this moment. Rejects with
   * LOCATION_GENERATION_GONE when that id is neither kept nor the present one's. `start`: as when sources are read.
   */
  async generation(id?: string, start = false): Promise<Generation> {
    using _ = this.use()
    const kept = id === undefined ? undefined : this.#generations.get(id)
    if (kept !== undefined) return this.#keep(kept)
    // Whoever names a generation has seen what was started.
    const present = await this.reload(start || id !== undefined)
    if (id === undefined || present.id === id) return present
    throw new Rejection('LOCATION_GENERATION_GONE', { directory: this.location.directory, generation: id })
  }

  /** Reads the sources again, and begins a new generation when they offer something else. */
  async reload(start = false): Promise<Generation> {
    const turn = ++this.#begun
    const offers = await Promise.all(
      this.#sources.map(async ([kind, source]) => [kind, await source.read(start)] as const),
    )
    const digests = byKind(offers, ({ digest }) => digest) as Digests
    const id = hash('sha256', JSON.stringify(digests), 'hex').slice(0, 32)
    const offered = byKind(offers, ({ value }) => value) as Offered
    const generation = this.#keep(this.#generations.get(id) ?? this.#begin(id, offered))
    // One that began later may have ended earlier, and knows better.
    if (turn < this.#counted || this.#retired) return generation
    this.#counted = turn
    this.#problems = offers.flatMap(([, { problems }]) => problems ?? [])
    const before = this.#digests
    this.#digests = digests
    for (const kind of KINDS) {
      const change = UPDATES[kind]
      if (change === undefined || before === undefined || before[kind] === digests[kind]) continue
      this.#options.onUpdate(change)
      const event = EVENTS[change.type]
      if (event !== undefined) generation.plugins.emit(event, {})
    }
    return generation
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#signal)
    for (const [, source] of this.#sources) source[Symbol.dispose]()
  }

  #begin(id: string, offered: Offered): Generation {
    const { skills, tools } = offered
    return { id, ...offered, tools: skills.length === 0 ? tools : joined([this.#options.skillTools(skills), tools]) }
  }

  #keep(generation: Generation): Generation {
    this.#generations.delete(generation.id)
    this.#generations.set(generation.id, generation)
    const [oldest] = this.#generations.keys()
    if (this.#generations.size > KEPT_GENERATIONS && oldest !== undefined) this.#generations.delete(oldest)
    return generation
  }
}

function byKind<T>(
  offers: readonly (readonly [Kind, Offer<Offered[Kind]>])[],
  of: (offer: Offer<Offered[Kind]>) => T,
): Partial<Record<Kind, T>> {
  return Object.fromEntries(offers.map(([kind, offer]) => [kind, of(offer)]))
}
