import { create } from '@bufbuild/protobuf'
import type { Location, Skill } from '#gen/portico/catalog/v1/catalog_pb.js'
import { type CatalogEvent, CatalogEventSchema, LocationShutdownSchema } from '#gen/portico/catalog/v1/event_pb.js'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import { isSamePlace } from '../domain/location.ts'
import type { Tools } from '../ports/tools.ts'
import { EventHub } from './event-hub.ts'
import type { Digests, Sources } from './generation.ts'
import { OpenLocation } from './open-location.ts'

interface Dependencies {
  readonly sources: Sources
  /** The tools with which a model reads skills. */
  readonly skillTools: (skills: readonly Skill[]) => Tools
  /** How long an unused location stays open, in milliseconds. */
  readonly idleMs: number
  readonly clock: Clock
  readonly logger: Logger
}

/** The present state of a directory. Rejects if nobody can work in it. */
type Look = (directory: string) => Promise<Location>

/** Longest interval between checks for idle locations, in milliseconds. */
const SWEEP_MS = 30_000

/** How long one location delays the others whose sources have also signalled a change, in milliseconds. */
const TURN_MS = 50

/** How many locations may be open; more are open only while calls are in progress in them. */
const MAX_OPEN = 1_024

/** For how many closed locations it is remembered what they offered. */
const MAX_CLOSED = 16_384

/** The directories in use, one object each. Those that nobody has used for a while are closed. */
export class OpenLocations implements Disposable {
  /** Changes in open locations. */
  readonly events = new EventHub()
  readonly #dependencies: Dependencies
  /** Directory → its object, the one that was opened least recently first. */
  readonly #open = new Map<string, OpenLocation>()
  /** Directory → what it offered when it was closed, so that a change meanwhile is noticed. */
  readonly #closed = new Map<string, Digests>()
  /**
   * Locations whose sources have signalled a change. They are reloaded one after the other, since a file may belong to
   * all of them.
   */
  readonly #signalled = new Set<OpenLocation>()
  #reloading = false
  readonly #sweep: NodeJS.Timeout

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#sweep = setInterval(() => this.#closeIdle(), Math.min(SWEEP_MS, dependencies.idleMs)).unref()
  }

  get size(): number {
    return this.#open.size
  }

  /** The object of a location, which is opened if necessary. If its project has changed, it is opened anew. */
  open(location: Location): OpenLocation {
    const { directory } = location
    const before = this.#open.get(directory)
    if (before !== undefined && !isSamePlace(before.location, location)) this.#close(directory, before)
    const open = this.#open.get(directory) ?? this.#beginAgain(location)
    open.usedAt = this.#dependencies.clock.monotonic()
    this.#open.delete(directory)
    this.#open.set(directory, open)
    if (this.#open.size > MAX_OPEN) this.#closeOldest(directory)
    return open
  }

  /** Emits that something has changed in a location. */
  publish(directory: string, event: CatalogEvent['event']): void {
    const { clock } = this.#dependencies
    const [eventId, createTime] = [timedId('evt', clock), clock.now()]
    this.events.publish(create(CatalogEventSchema, { eventId, createTime, directory, event }))
  }

  /**
   * Rebuilds the open locations that `wanted` admits, concurrently, in the state that `look` finds, and replaces the
   * previous ones, in which calls in progress end. Resolves when each is rebuilt or has failed; then the previous one
   * remains, unless its directory is gone. Returns the failures and their causes.
   */
  async reload(wanted: (directory: string) => boolean, look: Look): Promise<readonly ReloadFailure[]> {
    const former = [...this.#open].filter(([directory]) => wanted(directory))
    const failures = await Promise.all(former.map(([directory, open]) => this.#replace(directory, open, look)))
    for (const [directory] of former)
      this.publish(directory, { case: 'locationShutdown', value: create(LocationShutdownSchema) })
    return failures
      .filter((failure) => failure !== undefined)
      .sort((one, other) => (one.directory < other.directory ? -1 : 1))
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep)
    for (const open of this.#open.values()) open[Symbol.dispose]()
    this.#open.clear()
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
      const gone = error instanceof Rejection && error.reason === 'LOCATION_NOT_FOUND'
      if (gone && this.#open.get(directory) === former) this.#close(directory, former)
      this.#dependencies.logger.warn({ err: error, directory }, 'A location could not be reloaded')
      return reloadFailure(directory, error)
    }
    // Closed meanwhile, or replaced by another reload.
    if (this.#open.get(directory) !== former) {
      open[Symbol.dispose]()
      return undefined
    }
    open.usedAt = former.usedAt
    this.#open.set(directory, open)
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
    const { sources, skillTools, clock } = this.#dependencies
    const open: OpenLocation = new OpenLocation(location, {
      sources,
      skillTools,
      clock,
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
    for (const [directory, open] of this.#open) {
      if (open.usedAt <= since && !open.inUse) this.#close(directory, open)
    }
  }

  #closeOldest(except: string): void {
    for (const [directory, open] of this.#open) {
      if (directory === except || open.inUse) continue
      this.#close(directory, open)
      return
    }
  }

  #close(directory: string, open: OpenLocation): void {
    this.#open.delete(directory)
    this.#signalled.delete(open)
    open.retire()
    if (open.digests === undefined) return
    this.#closed.set(directory, open.digests)
    const [oldest] = this.#closed.keys()
    if (this.#closed.size > MAX_CLOSED && oldest !== undefined) this.#closed.delete(oldest)
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds).unref())

/** A location that could not be reloaded. */
interface ReloadFailure {
  readonly directory: string
  readonly problem: string
}

/** Describes what prevented a location from being reloaded. */
function reloadFailure(directory: string, error: unknown): ReloadFailure {
  if (error instanceof Rejection)
    return { directory, problem: error.metadata.problem ?? 'it is gone, or cannot be read' }
  return { directory, problem: error instanceof Error ? error.message : String(error) }
}
