import type { Clock } from '#shared/clock.ts'
import { Rejection } from '#shared/rejection.ts'
import { INTERVAL_MS, RecentCounts } from './recent-counts.ts'

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
  readonly known: RecentCounts
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
    if (client.known.total(interval) >= this.#limit) {
      const ms = client.known.intervalBelow(interval, this.#limit) * INTERVAL_MS - this.#clock.monotonic()
      throw new Rejection('TOO_MANY_EXCHANGES', { retry_after: String(Math.max(1, Math.ceil(ms / 1_000))) })
    }
    client.known.add(interval)
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
        client.known.take(interval)
        client.known.addAll(interval, totals[i]?.counts ?? [])
        client.known.addAll(interval, client.unreported.at(interval))
        // Reports use a wall clock; if it jumps, what was admitted may be lost from them.
        client.known.raiseTo(interval, client.own.at(interval))
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
  return { known: new RecentCounts(), own: new RecentCounts(), unreported: new RecentCounts() }
}
