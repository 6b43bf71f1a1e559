import { Rejection } from '#shared/rejection.ts'
import type { InboxItem } from '../domain/inbox.ts'
import { admitInput, type WaitingInputs } from '../domain/inputs.ts'
import type { AssistantMessage } from '../domain/message.ts'
import type { PermissionAnswer, PermissionRequest } from '../domain/permission.ts'
import { answerRequest } from '../domain/permission-answers.ts'
import type { Revision } from '../domain/revision.ts'
import { interruptRun } from '../domain/run.ts'
import { selectAgent, selectModel } from '../domain/selection.ts'
import type { ModelRef, Session } from '../domain/session.ts'
import { isBusy, type SessionState } from '../domain/session-state.ts'
import type { Admission, Lease, StoredMessage } from '../ports.ts'
import { type MessageRecord, type RequestRecord, toInboxItem } from './records.ts'
import { requestNotFound } from './refusals.ts'

/** What is at hand at once in one store, and has to be waited for in another. */
export type Maybe<T> = T | Promise<T>

/** What rules have to know besides the state of their session. */
export interface Reads {
  session(): Maybe<Session>
  /** Any message or input of the workspace. */
  message(id: string): Maybe<MessageRecord | undefined>
  transcript(afterSeq: number): Maybe<readonly StoredMessage[]>
  waitingInputs(): Maybe<WaitingInputs>
  request(id: string): Maybe<RequestRecord | undefined>
  /** Requests without an answer, expired ones too, oldest first. */
  waitingRequests(): Maybe<readonly PermissionRequest[]>
  /** What an owner that is gone left unfinished: steps that are not completed, requests without an answer. */
  leftovers(): Maybe<{ readonly steps: readonly AssistantMessage[]; readonly requests: readonly PermissionRequest[] }>
}

/** A session, and the lease that what is done with it is done under. */
export interface Target {
  readonly workspace: string
  readonly sessionId: string
  readonly lease?: Lease
}

/** A session's state, and the time: the injected clock's, and the one that leases reckon with. */
export interface Found {
  readonly state: SessionState
  readonly now: number
  readonly leaseNow: number
}

/** For rules that need nothing but the state. */
export const nothing = (): undefined => undefined

/**
 * The use cases that change one session, the same for every store: a store only has to read, and to write a revision
 * in one transaction with nobody between the reading and the writing.
 */
export abstract class RevisingStore {
  /**
   * Reads, lets the rule decide, writes, and resolves after the commit. Refuses what `refusals.ts` says. Both functions
   * may run several times.
   */
  protected abstract revise<R, T>(
    target: Target,
    read: (reads: Reads) => Maybe<R>,
    decide: (revision: Revision, read: R) => T,
  ): Promise<T>
  protected abstract find(workspace: string, sessionId: string): Maybe<Found | undefined>
  /** Reads outside of a use case. */
  protected abstract reads(workspace: string, sessionId: string): Reads

  admitPrompt(workspace: string, admission: Admission): Promise<InboxItem> {
    const { id, sessionId, prompt, delivery, digest, admitter, wake } = admission
    return this.revise(
      { workspace, sessionId },
      (reads) => reads.message(id),
      (revision, known) => {
        if (known !== undefined && (known.sessionId !== sessionId || known.digest !== digest)) {
          throw new Rejection('PROMPT_CONFLICT', { message_id: id })
        }
        if (wake && !revision.state.due) revision.set({ due: true })
        if (known !== undefined) return toInboxItem(known)
        const item = { id, sessionId, prompt, delivery, timeCreated: revision.now }
        admitInput(revision, { item, admitter }, digest)
        return item
      },
    )
  }

  async getInput(workspace: string, sessionId: string, messageId: string): Promise<InboxItem | undefined> {
    const record = await this.reads(workspace, sessionId).message(messageId)
    if (record === undefined || record.sessionId !== sessionId || record.admitted === null) return undefined
    return toInboxItem(record)
  }

  selectAgent(workspace: string, sessionId: string, agent: string): Promise<void> {
    return this.revise({ workspace, sessionId }, nothing, (revision) => selectAgent(revision, agent))
  }

  selectModel(workspace: string, sessionId: string, model: ModelRef): Promise<void> {
    return this.revise({ workspace, sessionId }, nothing, (revision) => selectModel(revision, model))
  }

  async isBusy(workspace: string, sessionId: string): Promise<boolean | undefined> {
    const found = await this.find(workspace, sessionId)
    return found && isBusy(found.state, found.leaseNow)
  }

  async requestInterrupt(workspace: string, sessionId: string): Promise<boolean | undefined> {
    if ((await this.find(workspace, sessionId)) === undefined) return undefined
    return this.revise({ workspace, sessionId }, nothing, interruptRun)
  }

  replyPermission(workspace: string, sessionId: string, requestId: string, answer: PermissionAnswer): Promise<void> {
    return this.revise(
      { workspace, sessionId },
      (reads) => reads.waitingRequests(),
      (revision, waiting) => {
        if (!answerRequest(revision, waiting, requestId, answer)) throw requestNotFound(requestId)
      },
    )
  }
}
