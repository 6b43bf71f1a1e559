import type { AppliedPreset, Attribution, FinishReason, Usage } from '#gen/portico/inference/v1/inference_pb.js'
import type { Account } from '../domain/ledger/account.ts'
import type { Admission, MaxCost } from '../domain/ledger/admission.ts'
import type { KeyTerms } from '../domain/ledger/key-terms.ts'

/** What is known when a request begins. */
export interface LedgerOpening {
  readonly workspace: string
  readonly requestId: string
  /** Empty for the local operator. */
  readonly apiKeyId: string
  /** The interface that the request came by. */
  readonly origin: string
  readonly streamed: boolean
  /** Empty if it belongs to no session. */
  readonly sessionId: string
  /** End user; empty: none was named. */
  readonly user: string
  readonly providerId: string
  readonly modelId: string
  readonly preset: Pick<AppliedPreset, 'presetId' | 'slug' | 'version'> | undefined
  readonly attribution: Attribution | undefined
  readonly metadata: Readonly<Record<string, string>>
}

/** How a request ended. */
export interface LedgerClosing {
  readonly workspace: string
  readonly requestId: string
  readonly apiKeyId: string
  readonly status: 'completed' | 'aborted' | 'failed'
  /** Undefined: nothing was used, or nothing is known about it. */
  readonly usage: Usage | undefined
  readonly costNanos: bigint
  readonly costKnown: boolean
  /** Undefined: the answer was incomplete. */
  readonly finishReason: FinishReason | undefined
  /** The provider's own word for it; empty: none. */
  readonly rawReason: string
  /** Empty: the provider named none. */
  readonly serviceTier: string
  /** Members of the request that did not reach the model as they were meant. */
  readonly leftOut: readonly string[]
  /** Milliseconds until the first part of the answer; undefined: there was none. */
  readonly firstPartMs: number | undefined
  /** Reason of a failure; empty: none. */
  readonly error: string
}

/** A row of the ledger. Times are milliseconds since the epoch. */
export interface LedgerEntry extends LedgerOpening, Omit<LedgerClosing, 'status'> {
  readonly status: LedgerClosing['status'] | 'open'
  readonly startedAt: number
  /** Undefined while open. */
  readonly finishedAt: number | undefined
}

/** A row that is closed. */
export interface ClosedEntry extends LedgerEntry {
  readonly status: LedgerClosing['status']
}

/** How much of an answer has been generated so far, for a running request. */
export interface LedgerProgress {
  readonly workspace: string
  readonly requestId: string
  readonly outputTokens: bigint
}

/** Rows that are summed together. */
export interface ActivitySum {
  readonly providerId: string
  readonly modelId: string
  /** Undefined: none was requested, or these requests have none. */
  readonly metadataValue: string | undefined
  readonly requestCount: number
  readonly usage: Usage
  readonly costNanos: bigint
}

/** Selects the rows to sum: those of a workspace that ended on a UTC day. */
export interface ActivityQuery {
  readonly workspace: string
  /** Counted from the epoch. */
  readonly day: number
  /** Undefined: all keys. */
  readonly keyId: string | undefined
  /** Undefined: rows are summed whatever their metadata. */
  readonly metadataKey: string | undefined
}

/** The error of a row whose process ended before it could close it; usage is estimated, and the status is `aborted`. */
export const PROCESS_LOST = 'PROCESS_LOST'

/**
 * The usage of each request of a workspace, one row each, and an account of each key and each workspace, which is the
 * sum of their rows and of what open ones hold. Every write resolves after it is durable; concurrent writes share
 * commits.
 */
export interface Ledger extends AsyncDisposable {
  /** Writes something small of its own, to check that the store can be written. */
  probe(): Promise<void>

  /**
   * Opens a row, counts the request, and lets it hold its maximum cost, in one step: two requests never hold the same
   * rest of a limit, in whatever processes they are. If the terms refuse it, nothing is written. Rejects with
   * REQUEST_DUPLICATE (metadata `request_id`) if the workspace has a row with that id.
   */
  open(opening: LedgerOpening, maxCost: MaxCost, terms: KeyTerms | undefined): Promise<Admission>
  /**
   * Nobody will close a row: either its opening failed, but may have been carried out, or its close cannot be written.
   * If it is open, it is settled like a row of a process that is gone. `wasCalled`: its provider may have been called,
   * so that it may have cost something.
   */
  abandon(workspace: string, requestId: string, wasCalled: boolean): void
  /**
   * Closes open rows: their holds are released, and their cost counts. A row that is closed already is not changed,
   * unless it was mistaken for lost: then these figures replace the estimate, in the row and in the sums. A row that
   * does not exist is ignored.
   */
  close(closings: readonly LedgerClosing[]): Promise<void>
  /** Records the progress of requests, for whoever has to settle them. */
  note(progress: readonly LedgerProgress[]): Promise<void>
  /** Makes readers in other processes wait for the closing of rows, which is in progress. */
  announce(closings: readonly LedgerClosing[]): Promise<void>
  /** Waits for closings that other processes have announced in a workspace, for at most a few seconds. */
  awaitAnnounced(workspace: string): Promise<void>
  /**
   * Renews the lease of this process, and settles the rows of processes whose lease has expired: as PROCESS_LOST, with
   * the estimate of their input and the recorded output. Must be called every few seconds.
   */
  settle(): Promise<void>

  /** The row, or undefined when the workspace has none with that id. */
  get(workspace: string, requestId: string): Promise<LedgerEntry | undefined>
  /** The accounts of keys, in that order, as last written (`accountAt`). */
  accounts(workspace: string, keyIds: readonly string[]): Promise<readonly Account[]>
  /** The account of the workspace. */
  workspaceAccount(workspace: string): Promise<Account>
  /** Sums rows by provider, model and metadata, in that order. */
  activity(query: ActivityQuery): Promise<readonly ActivitySum[]>
}
