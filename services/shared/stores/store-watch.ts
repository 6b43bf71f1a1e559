import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import type { StoreHealth, StoreProblem, StoreState } from '#shared/stores/store-health.ts'
import { storeUnavailable } from '#shared/stores/store-outage.ts'
import { limitStoreTime, spendStoreTime, storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import { detached } from '#shared/telemetry/tracing.ts'

export interface StoreWatchOptions {
  /** Name of the service, for the log. */
  readonly name: string
  /** Writes something small to the store. */
  readonly probe: () => Promise<unknown>
  /** What an error of the driver means for the store; undefined: the store is not to blame. */
  readonly problemOf: (error: unknown) => StoreProblem | undefined
  /** Time limit in milliseconds of one request's calls together; undefined: these calls end by themselves. */
  readonly limitMs?: number | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Milliseconds between a write and the next probe while the store is well; default: 5 s. */
  readonly probeMs?: number
}

const PROBE_MS = 5_000
/** Between probes while the store is, or may be, unavailable; never longer than the normal interval. */
const AGAIN_MS = 1_000
/** How many probes must fail in a row before the store counts as unavailable, since one slow call proves nothing. */
const FAILURES = 3
const NOTE_MS = 60_000

/** Fields of log lines about a problem; a full disk has its own reason and status there. */
const FIELDS = {
  away: { reason: 'STORE_UNAVAILABLE', status: 503 },
  full: { reason: 'STORE_FULL', status: 507 },
  damaged: { reason: 'STORE_DAMAGED', status: 503 },
} as const

/**
 * Watches whether a store can be written: by a probe if nothing was written for 5 s, and at once if a call fails. It
 * logs one line when the store becomes unavailable and one when it is back, and converts errors of drivers to
 * STORE_UNAVAILABLE. A damaged store never comes back: somebody has to repair it while the process is stopped.
 */
export class StoreWatch implements StoreHealth, Disposable {
  readonly #options: StoreWatchOptions
  readonly #probeMs: number
  readonly #againMs: number
  readonly #listeners = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #probing = false
  #suspected: StoreProblem | undefined
  #damaged = false
  #disposed = false
  #begun = true
  #failures = 0
  #kind: StoreProblem['kind'] = 'away'
  #awaySince = 0
  #probedAt = Number.NEGATIVE_INFINITY
  #wroteAt = Number.NEGATIVE_INFINITY
  #notedAt = Number.NEGATIVE_INFINITY

  constructor(options: StoreWatchOptions) {
    this.#options = options
    this.#probeMs = options.probeMs ?? PROBE_MS
    this.#againMs = Math.min(AGAIN_MS, this.#probeMs)
    if (options.limitMs !== undefined) limitStoreTime()
    this.#schedule(this.#probeMs)
  }

  /** Probes for the first time, before anybody reads the state; a failure counts until a probe succeeds. */
  async begin(): Promise<void> {
    this.#begun = false
    await this.#probe()
    this.#begun = true
  }

  state(): StoreState {
    return this.#failures < FAILURES ? { ok: true } : { ok: false, kind: this.#kind }
  }

  onChange(listener: () => void): Disposable {
    const own = (): void => listener()
    this.#listeners.add(own)
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) }
  }

  /** Waits for a call, at most `limitMs` if limited; throws STORE_UNAVAILABLE if the store is to blame. */
  async follow<T>(call: Promise<T>, { limited, writes }: { limited: boolean; writes: boolean }): Promise<T> {
    try {
      const answer = await (limited ? this.#within(call) : call)
      if (writes) this.#wroteAt = this.#options.clock.monotonic()
      return answer
    } catch (error) {
      const problem = this.#problemOf(error)
      if (problem === undefined) throw error
      if (problem.kind === 'damaged') this.#condemn(problem)
      else if (problem.locked !== true) this.#suspect(problem)
      const { kind, text, outcomeUnknown = false } = problem
      throw storeUnavailable(text, { cause: error, outcomeUnknown, damaged: kind === 'damaged' })
    }
  }

  [Symbol.dispose](): void {
    this.#disposed = true
    clearTimeout(this.#timer)
    this.#listeners.clear()
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (this.#disposed || this.#damaged) return
    // What the watch does belongs to no request, not even to the one whose call failed.
    this.#timer = detached(() => setTimeout(() => void this.#probe(), ms))
    this.#timer.unref()
  }

  /** A call failed: the next probe comes soon, and shows whether the store is to blame. */
  #suspect(problem: StoreProblem): void {
    if (this.#failures > 0) return
    this.#suspected = problem
    if (!this.#probing) this.#schedule(Math.max(0, this.#probedAt + this.#againMs - this.#options.clock.monotonic()))
  }

  async #probe(): Promise<void> {
    const { probe, clock } = this.#options
    const rest = this.#wroteAt + this.#probeMs - clock.monotonic()
    if (rest > 0 && this.#failures === 0 && this.#suspected === undefined) {
      this.#schedule(rest)
      return
    }
    this.#probing = true
    const problem = await this.#within(probe()).then(
      () => undefined,
      (error: unknown): StoreProblem => this.#problemOf(error) ?? { kind: 'away', text: String(error) },
    )
    this.#probing = false
    if (this.#disposed || this.#damaged) return
    if (problem === undefined) this.#succeeded()
    else if (problem.kind === 'damaged') this.#condemn(problem)
    else this.#failed(problem)
    this.#suspected = undefined
    this.#probedAt = clock.monotonic()
    this.#schedule(this.#failures > 0 ? this.#againMs : this.#probeMs)
  }

  #succeeded(): void {
    const before = this.#failures
    this.#failures = 0
    const { name, clock, logger } = this.#options
    const now = clock.monotonic()
    if (before > 0) {
      logger.warn(
        { store: name, seconds: Math.round((now - this.#awaySince) / 100) / 10 },
        'The store is available again',
      )
    } else if (this.#suspected !== undefined && now - this.#notedAt >= NOTE_MS) {
      this.#notedAt = now
      this.#log(this.#suspected, 'A call of the store failed, but the store accepts writes')
    }
    if (before >= FAILURES) this.#report()
  }

  #failed(problem: StoreProblem): void {
    this.#failures += this.#begun ? 1 : FAILURES
    this.#kind = problem.kind
    if (this.#failures === 1 || !this.#begun) {
      this.#awaySince = this.#options.clock.monotonic()
      this.#log(problem, 'The store is unavailable')
    }
    if (this.#failures === FAILURES) this.#report()
  }

  #condemn(problem: StoreProblem): void {
    if (this.#damaged || this.#disposed) return
    this.#damaged = true
    clearTimeout(this.#timer)
    this.#failures = FAILURES
    this.#kind = problem.kind
    this.#log(problem, 'The store is damaged: stop the server and restore it from a backup')
    this.#report()
  }

  #log({ kind, text }: StoreProblem, what: string): void {
    this.#options.logger.error({ store: this.#options.name, ...FIELDS[kind] }, `${what}: ${text}`)
  }

  #report(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  #problemOf(error: unknown): StoreProblem | undefined {
    return error instanceof Late
      ? { kind: 'away', text: error.message, outcomeUnknown: true }
      : this.#options.problemOf(error)
  }

  #within<T>(call: Promise<T>): Promise<T> {
    const { limitMs, clock } = this.#options
    return limitMs === undefined ? call : within(limitMs, call, clock)
  }
}

/** Watches a service's store: MongoDB if a connection is given, otherwise this machine's disk. */
export function watchStore(
  store: { probe(): Promise<void> },
  options: {
    readonly name: string
    readonly mongo?: Mongo | undefined
    readonly clock: Clock
    readonly logger: Logger
  },
): StoreWatch {
  const { mongo, ...rest } = options
  const problemOf = mongo?.problemOf ?? diskProblem
  return new StoreWatch({ ...rest, probe: () => store.probe(), problemOf, limitMs: mongo?.limitMs })
}

/** A call took too long. */
export class Late extends Error {}

/**
 * Waits for a call of a store, within the time limit that it shares with the other calls of its request; then throws
 * {@link Late}.
 */
export function within<T>(limitMs: number, call: Promise<T>, clock: Clock): Promise<T> {
  const spend = spendStoreTime(() => clock.monotonic())
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const late = setTimeout(() => reject(new Late(`no answer within ${limitMs} ms`)), storeTimeLeft(limitMs))
  call.then(resolve, reject).finally(() => clearTimeout(late))
  return promise.finally(spend)
}
