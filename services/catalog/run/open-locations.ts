import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { CatalogChange } from '../domain/catalog-event.ts'
import { isSamePlace, type Location } from '../domain/location.ts'
import type { Skill } from '../domain/skill.ts'
import type { Tools } from '../ports/tools.ts'
import { EventHub } from './event-hub.ts'
import type { Digests, Sources } from './offered.ts'
import { OpenLocation } from './open-location.ts'
import { type ReloadFailure, reloadFailure } from './reload-failure.ts'

interface Dependencies {
  readonly sources: Sources
  /** The tools by which a model reads skills. */
  readonly skillTools: (skills: readonly Skill[]) => Tools
  /** How long a location stays open that nobody uses, in milliseconds. */
  readonly idleMs: number
  readonly clock: Clock
  readonly logger: Logger
}

/** What a directory is at this moment. Rejects when that is nothing that can be worked in. */
type Look = (directory: string) => Promise<Location>

interface Entry {
  open: OpenLocation
  /** Monotonic time. */
  usedAt: number
}

/** How often idle ones are looked for at most, in milliseconds. */
const SWEEP_MS = 30_000

/** How long the others whose sources have signalled a change wait for one of them, in milliseconds. */
const TURN_MS = 50

/** Locations that may be open; more are only while calls go on in them. */
const MAX_OPEN = 1_024

/** Closed locations of which it is known what they offered. */
const MAX_CLOSED = 16_384

/** The directories in use, one object each. Those that nobody has used for a time are closed. */
export class OpenLocations implements Disposable {
  /** What changes in open locations. */
  readonly events = new EventHub()
  readonly #dependencies: Dependencies
  /** Directory → entry, the least recently used first. */
  readonly #entries = new Map<string, Entry>()
  /** Directory → what it offered when it was closed, so that a change meanwhile is noticed. */
  readonly #closed = new Map<string, Digests>()
  /** Locations whose sources have signalled a change. They are reloaded in turns: a file may be part of all. */
  readonly #signalled = new Set<OpenLocation>()
  #reloading = false
  readonly #sweep: NodeJS.Timeout

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#sweep = setInterval(() => this.#closeIdle(), Math.min(SWEEP_MS, dependencies.idleMs)).unref()
  }

  /** How many are open. */
  get size(): number {
    return this.#entries.size
  }

  /** The object of a location, opened when it is not open. One whose project has become another is opened anew. */
  open(location: Location): OpenLocation {
    const { directory } = location
    const entry = this.#entries.get(directory)
    if (entry !== undefined && !isSamePlace(entry.open.location, location)) this.#close(directory, entry)
    const open = this.#entries.get(directory)?.open ?? this.#beginAgain(location)
    this.#entries.delete(directory)
    this.#entries.set(directory, { open, usedAt: this.#dependencies.clock.monotonic() })
    if (this.#entries.size > MAX_OPEN) this.#closeOldest(directory)
    return open
  }

  /** Emits that something has changed in a location. */
  publish(directory: string, change: CatalogChange): void {
    const { clock } = this.#dependencies
    this.events.publish({ id: timedId('evt', clock), timeCreated: clock.now(), directory, ...change })
  }

  /**
   * Builds the open locations that `wanted` admits anew, all at the same time, as what `look` finds, and puts each in the place of the
   * one before, in which calls that go on end. Resolves when each is built or has failed: then the one before stays, unless its
   * directory is gone. Returns what failed, and why.
   */
  async reload(wanted: (directory: string) => boolean, look: Look): Promise<readonly ReloadFailure[]> {
    const entries = [...this.#entries].filter(([directory]) => wanted(directory))
    const failures = await Promise.all(entries.map(([directory, { open }]) => this.#replace(directory, open, look)))
    for (const [directory] of entries) this.publish(directory, { type: 'location-shutdown' })
    return failures
      .filter((failure) => failure !== undefined)
      .sort((one, other) => (one.directory < other.directory ? -1 : 1))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep)
    for (const { open } of this.#entries.values()) open[Symbol.dispose]()
    this.#entries.clear()
    this.#signalled.clear()
  }

  async #replace(directory: string, former: OpenLocation, look: Look): Promise<ReloadFailure | undefined> {
    let open: OpenLocation | undefined
    try {
      open = this.#begin(await look(directory), former.digests)
      await open.reload()
      if (open.problems.length > 0) throw new Error(open.problems.join('; '))
    } catch (error) {
      open?.[Symbol.dispose]()
      const entry = this.#entries.get(directory)
      const gone = error instanceof Rejection && error.reason === 'LOCATION_NOT_FOUND'
      if (gone && entry?.open === former) this.#close(directory, entry)
      this.#dependencies.logger.warn({ err: error, directory }, 'A location could not be reloaded')
      return reloadFailure(directory, error)
    }
    const entry = this.#entries.get(directory)
    // Closed meanwhile, or replaced by another reload.
    if (entry?.open !== former) {
      open[Symbol.dispose]()
      return undefined
    }
    entry.open = open
    this.#signalled.delete(former)
    former.retire()
    return undefined
  }

  #beginAgain(location: Location): OpenLocation {
    const before = this.#closed.get(location.directory)
    this.#closed.delete(location.directory)
    return this.#begin(location, before)
  }

  #begin(location: Location, before: Digests | undefined): OpenLocation {
    const { sources, skillTools } = this.#dependencies
    const open: OpenLocation = new OpenLocation(location, {
      sources,
      skillTools,
      before,
      onSignal: () => {
        this.#signalled.add(open)
        void this.#reloadSignalled()
      },
      onUpdate: (change) => this.publish(location.directory, change),
    })
    return open
  }

  async #reloadSignalled(): Promise<void> {
    if (this.#reloading) return
    this.#reloading = true
    for (const open of this.#signalled) {
      this.#signalled.delete(open)
      const reloaded = open.reload().catch((error: unknown) => {
        const { directory } = open.location
        this.#dependencies.logger.warn({ err: error, directory }, 'A location that changed could not be reloaded')
      })
      await Promise.race([reloaded, pause(TURN_MS)])
    }
    this.#reloading = false
  }

  #closeIdle(): void {
    const since = this.#dependencies.clock.monotonic() - this.#dependencies.idleMs
    for (const [directory, entry] of this.#entries) {
      if (entry.usedAt <= since && !entry.open.inUse) this.#close(directory, entry)
    }
  }

  #closeOldest(except: string): void {
    for (const [directory, entry] of this.#entries) {
      if (directory === except || entry.open.inUse) continue
      this.#close(directory, entry)
      return
    }
  }

  #close(directory: string, { open }: Entry): void {
    this.#entries.delete(directory)
    this.#signalled.delete(open)
    open.retire()
    if (open.digests === undefined) return
    this.#closed.set(directory, open.digests)
    const [oldest] = this.#closed.keys()
    if (this.#closed.size > MAX_CLOSED && oldest !== undefined) this.#closed.delete(oldest)
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds).unref())
