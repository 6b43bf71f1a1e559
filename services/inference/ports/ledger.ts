import type { Usage } from '../domain/generation.ts'

/** What is known when a request begins. */
export interface LedgerOpening {
  readonly workspace: string
  readonly requestId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  /** Which interface the request came by. */
  readonly origin: string
  /** Empty when it belongs to no session. */
  readonly sessionId: string
  readonly providerId: string
  readonly modelId: string
}

/** How a request ended. */
export interface LedgerClosing {
  readonly workspace: string
  readonly requestId: string
  readonly status: 'completed' | 'aborted' | 'failed'
  /** Undefined: the provider reported none. */
  readonly usage: Usage | undefined
  readonly costNanos: bigint
  /** Reason of a failure; empty without one. */
  readonly error: string
}

/** A row of the ledger. Times are milliseconds since the epoch. */
export interface LedgerEntry extends LedgerOpening, Omit<LedgerClosing, 'status'> {
  readonly status: LedgerClosing['status'] | 'open'
  readonly startedAt: number
  /** Undefined while open. */
  readonly finishedAt: number | undefined
}

/** Error of a row whose process ended before it could close it: what was used is unknown. Its status is `aborted`. */
export const PROCESS_LOST = 'PROCESS_LOST'

/**
 * What was used, one row for each request of a workspace. Every write resolves after it is durable; writes that come at once
 * share commits. Opening a ledger settles the rows that no process can close any more: all that are open where one process
 * owns the store, else those that were opened longer ago than a generation may last.
 */
export interface Ledger extends AsyncDisposable {
  /** Writes something small of its own, as a sign that the store can be written. */
  probe(): Promise<void>

  /** Opens a row. Rejects with REQUEST_DUPLICATE (metadata `request_id`) when the workspace has one with that id. */
  open(opening: LedgerOpening): Promise<void>
  /** Closes open rows. One that is closed already, or is not there, is left as it is. */
  close(closings: readonly LedgerClosing[]): Promise<void>
  /** Closes the rows that are open and were opened before a time, as PROCESS_LOST. */
  settle(openedBefore: number): Promise<void>
  /** The row, or undefined when the workspace has none with that id. For whoever checks a ledger: no call reads a row yet. */
  get(workspace: string, requestId: string): Promise<LedgerEntry | undefined>
}
