import type { Principal } from '#shared/rpc/call-context.ts'
import type { GenerationEvent, GenerationRequest, Usage } from './domain/generation.ts'

/** A model provider: one wire protocol at one address. */
export interface ModelProvider {
  /**
   * Generates one answer. Each item holds what came with one read of the network, in order, never empty; nothing is
   * read ahead of the consumer without bound. Nothing comes before the provider has taken the request. Ends after
   * `finished`, or rejects with PROVIDER_REFUSED, PROVIDER_RATE_LIMITED, PROVIDER_UNAVAILABLE or PROVIDER_TIMEOUT (metadata
   * `provider`, `message` and where known `status`, `retry_after`), or, when the signal aborts, with its reason. After an abort,
   * a return or an error nothing of the call is left open.
   */
  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>
}

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

/**
 * What was used, one row for each request of a workspace. Every write resolves after it is durable. Opening a ledger
 * closes as `aborted` the rows that no process can finish any more: all that are open where one process owns the store,
 * else those that were begun longer ago than a generation may last.
 */
export interface Ledger extends AsyncDisposable {
  /** Writes something small of its own, as a sign that the store can be written. */
  probe(): Promise<void>

  /** Writes an open row. Rejects with REQUEST_DUPLICATE (metadata `request_id`) when the workspace has one with that id. */
  begin(opening: LedgerOpening): Promise<void>
  /** Closes an open row. A row that is closed already, or is not there, is left as it is. */
  finish(workspace: string, requestId: string, closing: LedgerClosing): Promise<void>
  /** The row, or undefined when the workspace has none with that id. */
  get(workspace: string, requestId: string): Promise<LedgerEntry | undefined>
}

/** Says whether a caller may still spend. */
export interface KeyChecker {
  /** Rejects with CREDENTIAL_REFUSED when the principal's key is gone, disabled or expired. The local operator has none. */
  check(principal: Principal, signal: AbortSignal): Promise<void>
}
