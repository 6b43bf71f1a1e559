import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'

/** How long an interval is, in milliseconds. */
export const INTERVAL_MS = 2_000
/**
 * Intervals that are counted. Any minute touches 31 of them; one more is there because those of another clock begin
 * elsewhere, so that no minute is ever counted too short.
 */
export const INTERVALS = 32

/**
 * Recent counts, by intervals of time, newest first. Intervals are numbers of {@link INTERVAL_MS} on a clock that never
 * jumps.
 */
export class RecentCounts {
  #newest = 0
  #counts: number[] = []

  add(interval: number, count = 1): void {
    const counts = this.at(interval)
    counts[0] = (counts[0] ?? 0) + count
  }

  /** Adds what was counted elsewhere, by age. */
  addAll(interval: number, ages: readonly number[]): void {
    const counts = this.at(interval)
    for (const [age, count] of ages.slice(0, INTERVALS).entries()) counts[age] = (counts[age] ?? 0) + count
  }

  /** Adds as little as needed so that the total of any period up to now is at least the other's. */
  raiseTo(interval: number, ages: readonly number[]): void {
    const counts = this.at(interval)
    let here = 0
    let elsewhere = 0
    let most = 0
    for (let age = 0; age < Math.max(counts.length, ages.length); age++) {
      here += counts[age] ?? 0
      elsewhere += ages[age] ?? 0
      counts[age] = Math.max(here, elsewhere) - most
      most += counts[age] ?? 0
    }
  }

  /** Removes and returns all counts. */
  take(interval: number): readonly number[] {
    const counts = this.at(interval)
    this.#counts = []
    return counts
  }

  total(interval: number): number {
    let total = 0
    for (const count of this.at(interval)) total += count
    return total
  }

  /** The first interval at which fewer than `limit` are counted, if nothing is added. */
  intervalBelow(interval: number, limit: number): number {
    const counts = this.at(interval)
    let total = this.total(interval)
    let below = interval
    for (let age = counts.length - 1; age >= 0 && total >= limit; age--) {
      total -= counts[age] ?? 0
      below = interval + INTERVALS - age
    }
    return below
  }

  /** Counts by age, newest first; nothing follows the oldest that is not 0. */
  at(interval: number): number[] {
    const passed = interval - this.#newest
    if (passed > 0) {
      const rest = passed < INTERVALS ? this.#counts.slice(0, INTERVALS - passed) : []
      this.#counts = rest.length === 0 ? [] : [...Array<number>(passed).fill(0), ...rest]
      this.#newest = interval
    }
    return this.#counts
  }
}

/** How many client networks are remembered; beyond that, the one that has been silent longest is forgotten. */
const NETWORKS = 10_000
/** How long exchanges are counted before they are reported, in milliseconds. */
const REPORT_MS = 100
/** How long after a report that failed the next one is tried, in milliseconds. */
const RETRY_MS = 1_000
/** Networks of one report. */
const MOST_REPORTED = 1_000

/** What one client network exchanged within the last intervals of time, newest first. */
export interface Counted {
  readonly network: string
  readonly counts: number[]
}

/** Adds what was admitted here, and returns for each of these networks, in order, what was admitted by any gateway. */
export type ReportExchanges = (admitted: Counted[]) => Promise<readonly Counted[]>

interface Client {
  /** Admitted by any gateway, as far as this one knows. */
  readonly counts: RecentCounts
  /** Admitted here, reported or not; `known` is never less. */
  readonly own: RecentCounts
  /** Admitted here and not yet reported. */
  readonly unreported: RecentCounts
}

/**
 * Limits how many tokens each client network may exchange within any minute. The replicas of the facade share their
 * counts: each counts for itself, reports what it has admitted at most 0.1 s later, and gets the counts of the others.
 * If reports fail, each continues with its own count.
 */
export class ExchangeLimit {
  readonly #clock: Clock
  readonly #limit: number
  readonly #report: ReportExchanges
  /** The network that was admitted last comes last. */
  readonly #clients = new Map<string, Client>()
  readonly #toReport = new Map<string, Client>()
  #reporting = false

  constructor({ clock, limit, report }: { clock: Clock; limit: number; report: ReportExchanges }) {
    this.#clock = clock
    this.#limit = limit
    this.#report = report
  }

  /** Counts an exchange, or refuses it with TOO_MANY_EXCHANGES. */
  admit(network: string): void {
    const interval = this.#interval()
    const client = this.#clients.get(network) ?? newClient()
    if (client.counts.total(interval) >= this.#limit) {
      const ms = client.counts.intervalBelow(interval, this.#limit) * INTERVAL_MS - this.#clock.monotonic()
      throw new Rejection('TOO_MANY_EXCHANGES', { retry_after: String(Math.max(1, Math.ceil(ms / 1_000))) })
    }
    client.counts.add(interval)
    client.own.add(interval)
    client.unreported.add(interval)
    this.#clients.delete(network)
    this.#clients.set(network, client)
    this.#toReport.set(network, client)
    if (this.#clients.size > NETWORKS) this.#forget(this.#clients.keys().next().value ?? '')
    if (!this.#reporting) this.#reportIn(REPORT_MS)
  }

  #forget(network: string): void {
    this.#clients.delete(network)
    this.#toReport.delete(network)
  }

  #interval(): number {
    return Math.floor(this.#clock.monotonic() / INTERVAL_MS)
  }

  #reportIn(ms: number): void {
    this.#reporting = true
    setTimeout(() => void this.#reportNow(), ms).unref()
  }

  async #reportNow(): Promise<void> {
    const reported = [...this.#toReport].slice(0, MOST_REPORTED)
    const admitted = reported.map(([network, { unreported }]) => ({
      network,
      counts: [...unreported.take(this.#interval())],
    }))
    for (const [network] of reported) this.#toReport.delete(network)
    let next = REPORT_MS
    try {
      const totals = await this.#report(admitted)
      const interval = this.#interval()
      for (const [i, [, client]] of reported.entries()) {
        client.counts.take(interval)
        client.counts.addAll(interval, totals[i]?.counts ?? [])
        client.counts.addAll(interval, client.unreported.at(interval))
        // Reports use a wall clock; if it jumps, what was admitted may be lost from them.
        client.counts.raiseTo(interval, client.own.at(interval))
      }
    } catch {
      // Reported later, by age, together with what was admitted meanwhile.
      const interval = this.#interval()
      for (const [i, [network, client]] of reported.entries()) {
        client.unreported.addAll(interval, admitted[i]?.counts ?? [])
        if (this.#clients.has(network)) this.#toReport.set(network, client)
      }
      next = RETRY_MS
    }
    this.#reporting = false
    if (this.#toReport.size > 0) this.#reportIn(next)
  }
}

function newClient(): Client {
  return { counts: new RecentCounts(), own: new RecentCounts(), unreported: new RecentCounts() }
}
