import type { KeyTerms } from '#gen/portico/identity/v1/identity_pb.js'
import type { Activity, GenerationRecord } from '#gen/portico/inference/v1/usage_service_pb.js'
import type { Account } from '../domain/ledger/account.ts'
import type { Admission, MaxCost } from '../domain/ledger/admission.ts'

/** In whose account a request counts. */
interface AccountOwner {
  /** Empty for the local operator, who has an account, too. */
  readonly apiKeyId: string
}

/** What is known when a request begins. */
export type LedgerOpening = AccountOwner &
  Pick<
    GenerationRecord,
    | 'workspaceId'
    | 'requestId'
    | 'origin'
    | 'streamed'
    | 'sessionId'
    | 'user'
    | 'providerId'
    | 'modelId'
    | 'preset'
    | 'attribution'
    | 'metadata'
  >

/** How a request ended. */
export type LedgerClosing = AccountOwner &
  Pick<
    GenerationRecord,
    | 'workspaceId'
    | 'requestId'
    | 'status'
    | 'usage'
    | 'costNanos'
    | 'costKnown'
    | 'finishReason'
    | 'rawReason'
    | 'serviceTier'
    | 'leftOut'
    | 'firstPartMs'
    | 'error'
  >

/** How much of an answer has been generated so far, for a running request. */
export interface LedgerProgress {
  readonly workspaceId: string
  readonly requestId: string
  readonly outputTokens: bigint
}

/** Selects the rows to sum: those of a workspace that ended on a UTC day. */
export interface ActivityQuery {
  readonly workspaceId: string
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
  abandon(workspaceId: string, requestId: string, wasCalled: boolean): void
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
  awaitAnnounced(workspaceId: string): Promise<void>
  /**
   * Renews the lease of this process, and settles the rows of processes whose lease has expired: as PROCESS_LOST, with
   * the estimate of their input and the recorded output. Must be called every few seconds.
   */
  settle(): Promise<void>

  /** The row, or undefined when the workspace has none with that id. */
  get(workspaceId: string, requestId: string): Promise<GenerationRecord | undefined>
  /** The accounts of keys, in that order, as last written (`accountAt`). */
  accounts(workspaceId: string, keyIds: readonly string[]): Promise<readonly Account[]>
  workspaceAccount(workspaceId: string): Promise<Account>
  /** Sums rows by provider, model and metadata, in that order. */
  activity(query: ActivityQuery): Promise<readonly Activity[]>
}
