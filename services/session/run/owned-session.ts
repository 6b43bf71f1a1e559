import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { Outcome, PermissionReply, PermissionRequest } from '#gen/portico/session/v1/session_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { beginStep, type Course, type StepStart } from '../domain/begin-step.ts'
import {
  type CompactionUsage,
  failCompaction,
  finishCompaction,
  type Summary,
} from '../domain/compaction/compaction.ts'
import type { Admitter } from '../domain/inbox.ts'
import type { MessageOf } from '../domain/message.ts'
import {
  closeRequest,
  type PermissionAnswer,
  type RequestEntry,
  requestPermission,
} from '../domain/permission/permission-requests.ts'
import type { Revision } from '../domain/revision.ts'
import { abandonRun, type CutOff, endCutOff, endRun, recordStep, type StepRecord } from '../domain/run.ts'
import { type Settlement, type Settling, settleAborted } from '../domain/settle-aborted.ts'
import type { Lease, LeaseState } from '../ports/lease.ts'
import { type Maybe, nothing, type SessionReads, type SessionStore } from '../ports/session-store.ts'

interface Owner {
  readonly lease: Lease
  /** Throws when the lease is lost. */
  checkHeld(): void
  /** Processes the lease state that a write found. */
  heed(state: LeaseState): void
}

/** A session under a lease, with the writes of its run. Each write also reads the state of the lease. */
export class OwnedSession {
  readonly #store: Pick<SessionStore, 'revise' | 'inspect'>
  readonly #owner: Owner

  constructor(store: Pick<SessionStore, 'revise' | 'inspect'>, owner: Owner) {
    this.#store = store
    this.#owner = owner
  }

  /** Who admitted the last input that was promoted; undefined before the first. */
  lastAdmitter(): Promise<Admitter | undefined> {
    return this.#store.inspect(this.#owner.lease, nothing, ({ state }) => state.lastAdmitter)
  }

  /** Settles what an older owner, or this one, left unfinished; see `settleAborted`. */
  settleAborted(how: Settling = {}): Promise<Settlement> {
    return this.#revise(
      (reads) => reads.unfinished(),
      (revision, unfinished) => settleAborted(revision, unfinished, how),
    )
  }

  /**
   * Records that the run has made progress without completing a step: previous acquisitions of its lease no longer
   * count.
   */
  recordProgress(): Promise<void> {
    return this.#revise(nothing, (revision) => revision.set({ acquisitions: 0 }))
  }

  /** See `beginStep`. */
  beginStep({ lastSeq, ...course }: Course & { readonly lastSeq: number }): Promise<StepStart> {
    return this.#revise(
      (reads) => reads.stepReads(lastSeq),
      (revision, reads) => beginStep(revision, reads, course),
    )
  }

  /** See `finishCompaction`. */
  finishCompaction(running: MessageOf<'compaction'>, summary: Summary): Promise<MessageOf<'compaction'>> {
    return this.#revise(nothing, (revision) => finishCompaction(revision, running, summary))
  }

  /** See `failCompaction`. */
  failCompaction(
    running: MessageOf<'compaction'>,
    error: StructuredError,
    usage: CompactionUsage | undefined,
  ): Promise<MessageOf<'compaction'>> {
    return this.#revise(nothing, (revision) => failCompaction(revision, running, error, usage))
  }

  /** See `recordStep`. */
  recordStep(before: MessageOf<'assistant'> | undefined, record: StepRecord): Promise<number> {
    return this.#revise(nothing, (revision) => recordStep(revision, before, record))
  }

  /** Writes a request that waits, with its event. */
  requestPermission(request: PermissionRequest): Promise<void> {
    return this.#revise(nothing, (revision) => requestPermission(revision, request))
  }

  /** Ids of the requests that nobody has answered, even if their time is over. */
  waitingRequests(): Promise<ReadonlySet<string>> {
    return this.#store.inspect(
      this.#owner.lease,
      (reads) => reads.waitingRequestIds(),
      (_, ids) => new Set(ids),
    )
  }

  /**
   * The answer to a request; undefined while nobody has answered it, even if its time is over. One that was closed has
   * the reply that it was closed with.
   */
  permissionAnswer(requestId: string): Promise<PermissionAnswer | undefined> {
    return this.#store.inspect(
      this.#owner.lease,
      (reads) => reads.request(requestId),
      (_, entry) => required(entry, requestId).answer,
    )
  }

  /**
   * Ends a request that nobody answered in time or that is no longer needed, with its event. False: it was answered
   * before, and stays as it is.
   */
  closePermission(requestId: string, reply: PermissionReply, message = ''): Promise<boolean> {
    return this.#revise(
      (reads) => reads.request(requestId),
      (revision, entry) => {
        if (required(entry, requestId).answer !== undefined) return false
        closeRequest(revision, requestId, reply, message)
        return true
      },
    )
  }

  /** See `endRun`. */
  endRun(outcome: Outcome, error?: StructuredError): Promise<void> {
    return this.#revise(nothing, (revision) => endRun(revision, outcome, error))
  }

  /** See `endCutOff`. `cutOff` is called when the store has come to the write: until then prompts are accepted. */
  endCutOff(cutOff: () => CutOff): Promise<void> {
    return this.#revise(nothing, (revision) => endCutOff(revision, cutOff()))
  }

  /** See `abandonRun`. */
  abandonRun(error: StructuredError): Promise<void> {
    return this.#revise(nothing, (revision) => abandonRun(revision, error))
  }

  async #revise<R, T>(read: (reads: SessionReads) => Maybe<R>, decide: (revision: Revision, read: R) => T): Promise<T> {
    this.#owner.checkHeld()
    const { result, interruptRequested } = await this.#store.revise(this.#owner.lease, read, (revision, read) => {
      const result = decide(revision, read)
      return { result, interruptRequested: revision.state.interruptRequested }
    })
    this.#owner.heed({ interruptRequested })
    return result
  }
}

function required(entry: RequestEntry | undefined, requestId: string): RequestEntry {
  if (entry === undefined) throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
  return entry
}
