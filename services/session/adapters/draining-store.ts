import type { Admitter } from '../domain/inbox.ts'
import { promoteInputs } from '../domain/inputs.ts'
import type { StructuredError } from '../domain/message.ts'
import type { PermissionAnswer, PermissionReply, PermissionRequest } from '../domain/permission.ts'
import { askPermission, closeRequest } from '../domain/permission-answers.ts'
import type { Revision } from '../domain/revision.ts'
import { abandonRun, endRun, giveBack, recordStep } from '../domain/run.ts'
import type { Outcome, Session } from '../domain/session.ts'
import { settleAborted } from '../domain/settle-aborted.ts'
import type { Lease, LeaseState, Promotion, StepRecord, StoredMessage } from '../ports.ts'
import { requestNotFound, requireSession } from './refusals.ts'
import { type Found, type Maybe, nothing, type Reads, RevisingStore } from './revising-store.ts'

/** The use cases of whoever holds a session's lease, the same for every store. */
export abstract class DrainingStore extends RevisingStore {
  renewLease(lease: Lease, durationMs: number): Promise<LeaseState> {
    return this.#write(lease, nothing, (revision) => {
      revision.set({ leaseUntil: revision.leaseNow + durationMs })
      return { interruptRequested: revision.state.interruptRequested }
    })
  }

  async releaseLease(lease: Lease): Promise<void> {
    const { workspace, sessionId, fence } = lease
    if ((await this.find(workspace, sessionId)) === undefined) return
    await this.revise({ workspace, sessionId }, nothing, (revision) => giveBack(revision, fence))
  }

  settleAborted(lease: Lease): Promise<void> {
    return this.#write(
      lease,
      (reads) => reads.leftovers(),
      (revision, { steps, requests }) => settleAborted(revision, steps, requests),
    )
  }

  async readLeased(lease: Lease): Promise<{ readonly session: Session } & LeaseState> {
    const { state, reads } = await this.#look(lease)
    return { session: await reads.session(), interruptRequested: state.interruptRequested }
  }

  async readTranscript(lease: Lease, afterSeq: number): Promise<readonly StoredMessage[]> {
    const { reads } = await this.#look(lease)
    return reads.transcript(afterSeq)
  }

  async lastAdmitter(lease: Lease): Promise<Admitter | undefined> {
    const { state } = await this.#look(lease)
    return state.lastAdmitter
  }

  promote(lease: Lease, boundary: 'step' | 'idle'): Promise<Promotion> {
    return this.#write(
      lease,
      (reads) => reads.waitingInputs(),
      (revision, waiting) => promoteInputs(revision, waiting, boundary),
    )
  }

  recordStep(lease: Lease, record: StepRecord): Promise<number> {
    const { message, events, usage } = record
    return this.#write(
      lease,
      (reads) => reads.message(message.id),
      (revision, known) => recordStep(revision, known !== undefined, message, events, usage),
    )
  }

  askPermission(lease: Lease, request: PermissionRequest): Promise<void> {
    return this.#write(lease, nothing, (revision) => askPermission(revision, request))
  }

  async readPermissionAnswer(lease: Lease, requestId: string): Promise<PermissionAnswer | undefined> {
    const { reads } = await this.#look(lease)
    const request = await reads.request(requestId)
    if (request === undefined) throw requestNotFound(requestId)
    return request.reply === null ? undefined : { reply: request.reply, message: request.message }
  }

  closePermission(lease: Lease, requestId: string, reply: PermissionReply): Promise<boolean> {
    return this.#write(
      lease,
      (reads) => reads.request(requestId),
      (revision, request) => {
        if (request === undefined) throw requestNotFound(requestId)
        if (request.reply !== null) return false
        closeRequest(revision, requestId, reply)
        return true
      },
    )
  }

  endRun(lease: Lease, outcome: Outcome, error?: StructuredError): Promise<void> {
    return this.#write(lease, nothing, (revision) => endRun(revision, outcome, error))
  }

  abandonRun(lease: Lease, error: StructuredError): Promise<void> {
    return this.#write(lease, nothing, (revision) => abandonRun(revision, error))
  }

  #write<R, T>(lease: Lease, read: (reads: Reads) => Maybe<R>, decide: (revision: Revision, read: R) => T): Promise<T> {
    const { workspace, sessionId } = lease
    return this.revise({ workspace, sessionId, lease }, read, decide)
  }

  async #look(lease: Lease): Promise<Found & { readonly reads: Reads }> {
    const { workspace, sessionId } = lease
    const found = await this.find(workspace, sessionId)
    requireSession({ workspace, sessionId, lease }, found)
    return { ...found, reads: this.reads(workspace, sessionId) }
  }
}
