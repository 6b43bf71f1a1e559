import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type {
  Delivery,
  InboxItem,
  Outcome,
  PermissionReply,
  PermissionRequest,
  Session,
} from '#gen/portico/session/v1/session_pb.js'
import type { Summary } from '#services/session/domain/compaction/compaction.ts'
import { cancelItem, changeDelivery, type Unchanged } from '#services/session/domain/inbox/inbox-changes.ts'
import { admit, admitCompaction } from '#services/session/domain/inbox/inputs.ts'
import { moveSession } from '#services/session/domain/inbox/move-session.ts'
import { promoteItems } from '#services/session/domain/inbox/promotion.ts'
import { resumeRun } from '#services/session/domain/inbox/wake.ts'
import type { Admission, Admitter, InboxEntry, Payload } from '#services/session/domain/inbox.ts'
import type { MessageOf, StoredMessage } from '#services/session/domain/message.ts'
import { newSession } from '#services/session/domain/new-session.ts'
import { answerRequest, type PermissionAnswer } from '#services/session/domain/permission/permission-requests.ts'
import { giveBack, interruptRun, type StepRecord } from '#services/session/domain/run.ts'
import { selectAgent, selectModel } from '#services/session/domain/selection.ts'
import { isBusy } from '#services/session/domain/session-state.ts'
import type { Lease, LeaseState } from '#services/session/ports/lease.ts'
import { nothing, type SessionStore } from '#services/session/ports/session-store.ts'
import { checkAdmitted } from '#services/session/rpc/admission.ts'
import type { Conversation } from '#services/session/run/history/conversation.ts'
import { OwnedSession } from '#services/session/run/owned-session.ts'
import { Rejection } from '#shared/rejection.ts'

/** An admission with the session that it is for. */
export type TestAdmission<P extends Payload = Payload> = Admission<P> & { readonly sessionId: string }

/**
 * The promises of a session's store together with its rules: each method is one use case, as `rpc/` and `run/` perform
 * it.
 */
export type UseCases = Omit<SessionStore, 'createSession'> & ReturnType<typeof casesOf>

/** A store with its use cases. */
export function withUseCases(port: SessionStore): UseCases {
  const cases = casesOf(port)
  return new Proxy(port, {
    get(target, key) {
      if (Object.hasOwn(cases, key)) return Reflect.get(cases, key)
      const member: unknown = Reflect.get(target, key, target)
      // Not a bound function: `await using` would not recognise it.
      return typeof member === 'function' ? (...words: unknown[]) => Reflect.apply(member, target, words) : member
    },
  }) as unknown as UseCases
}

function casesOf(port: SessionStore) {
  const owned = (lease: Lease): OwnedSession => new OwnedSession(port, { lease, checkHeld() {}, heed() {} })
  return {
    createSession: (workspace: string, input: Session, parent?: string | Lease): Promise<Session> => {
      const parentId = typeof parent === 'string' ? parent : parent?.sessionId
      const child = parentId === undefined ? input : { ...input, parentId }
      const lease = typeof parent === 'string' ? undefined : parent
      return port.createSession(
        { workspace, sessionId: input.sessionId },
        (...made) => newSession(child, ...made),
        lease,
      )
    },
    admit: (workspace: string, { sessionId, ...admission }: TestAdmission) =>
      port.revise(
        { workspace, sessionId },
        (reads) => reads.admissionReads(admission.id),
        (revision, reads) => checkAdmitted(admit(revision, reads, admission), sessionId, admission.id),
      ),
    moveSession: (
      workspace: string,
      { sessionId, ...admission }: TestAdmission<Extract<Payload, { case: 'move' }>>,
      stranded = false,
    ) =>
      port.revise(
        { workspace, sessionId },
        (reads) => reads.moveReads(admission.id),
        (revision, reads) => checkAdmitted(moveSession(revision, reads, admission, stranded), sessionId, admission.id),
      ),
    admitCompaction: (workspace: string, { sessionId, ...admission }: TestAdmission) =>
      port.revise(
        { workspace, sessionId },
        (reads) => reads.compactionReads(admission.id),
        (revision, reads) => checkAdmitted(admitCompaction(revision, reads, admission), sessionId, admission.id),
      ),
    changeDelivery: (
      workspace: string,
      sessionId: string,
      id: string,
      delivery: Delivery,
    ): Promise<Unchanged | undefined> =>
      port.revise(
        { workspace, sessionId },
        (reads) => reads.item(id),
        (revision, known) => changeDelivery(revision, known, delivery),
      ),
    cancelItem: (workspace: string, sessionId: string, id: string): Promise<void> =>
      port.revise({ workspace, sessionId }, (reads) => reads.item(id), cancelItem),
    inbox: (workspace: string, sessionId: string, after: number, limit: number): Promise<readonly InboxEntry[]> =>
      port.inspect(
        { workspace, sessionId },
        (reads) => reads.inbox(after, limit),
        (_, waiting) => waiting,
      ),
    getInput: (workspace: string, sessionId: string, id: string): Promise<InboxItem | undefined> =>
      port.inspect(
        { workspace, sessionId },
        (reads) => reads.takenId(id),
        (_, taken) => (taken?.sessionId === sessionId ? taken.input?.item : undefined),
      ),
    selectAgent: (workspace: string, sessionId: string, agent: string) =>
      port.revise({ workspace, sessionId }, nothing, (revision) => selectAgent(revision, agent)),
    selectModel: (workspace: string, sessionId: string, model: ModelRef) =>
      port.revise({ workspace, sessionId }, nothing, (revision) => selectModel(revision, model)),
    isBusy: (workspace: string, sessionId: string): Promise<boolean> =>
      port.inspect({ workspace, sessionId }, nothing, ({ state, leaseNow }) => isBusy(state, leaseNow)),
    requestInterrupt: (workspace: string, sessionId: string, goOn = false): Promise<boolean> =>
      port.revise({ workspace, sessionId }, (reads) => (goOn ? reads.waiting() : undefined), interruptRun),
    resumeRun: (workspace: string, sessionId: string, admitter: Admitter): Promise<void> =>
      port.revise({ workspace, sessionId }, nothing, (revision) => resumeRun(revision, admitter)),
    replyPermission: (workspace: string, sessionId: string, requestId: string, answer: PermissionAnswer) =>
      port.revise(
        { workspace, sessionId },
        (reads) => reads.waitingRequests(),
        (revision, waiting) => {
          if (answerRequest(revision, waiting, requestId, answer)) return
          throw new Rejection('PERMISSION_REQUEST_NOT_FOUND', { request_id: requestId })
        },
      ),
    settleAborted: (lease: Lease) => owned(lease).settleAborted(),
    beginStep: (
      lease: Lease,
      known: Pick<Conversation, 'messages' | 'lastSeq'> = { messages: [], lastSeq: 0 },
      { limited = false, full = false } = {},
    ) => owned(lease).beginStep({ bytes: 0, contextLength: undefined, ...known, limited, full }),
    readLeased: (lease: Lease): Promise<{ session: Session } & LeaseState> =>
      port.inspect(
        lease,
        (reads) => reads.stepReads(0),
        ({ state: { interruptRequested } }, { session }) => ({ session, interruptRequested }),
      ),
    readTranscript: (lease: Lease, afterSeq: number): Promise<readonly StoredMessage[]> =>
      port.inspect(
        lease,
        (reads) => reads.stepReads(afterSeq),
        (_, { transcript }) => transcript,
      ),
    lastAdmitter: (lease: Lease) => owned(lease).lastAdmitter(),
    finishCompaction: (lease: Lease, running: MessageOf<'compaction'>, summary: Summary) =>
      owned(lease).finishCompaction(running, summary),
    promote: (lease: Lease, boundary: 'step' | 'idle') =>
      port.revise(
        lease,
        (reads) => reads.stepReads(0),
        (revision, { waiting }): { messages: readonly StoredMessage[]; admitter: Admitter | undefined } => {
          const { messages } = promoteItems(revision, waiting, boundary)
          return { messages, admitter: messages.length === 0 ? undefined : revision.state.lastAdmitter }
        },
      ),
    recordStep: async (lease: Lease, record: StepRecord): Promise<number> => {
      const before = await port.getMessage(lease.workspace, lease.sessionId, record.message.messageId)
      return owned(lease).recordStep(before?.message as MessageOf<'assistant'> | undefined, record)
    },
    requestPermission: (lease: Lease, request: PermissionRequest) => owned(lease).requestPermission(request),
    readPermissionAnswer: (lease: Lease, requestId: string) => owned(lease).permissionAnswer(requestId),
    closePermission: (lease: Lease, requestId: string, reply: PermissionReply, message = '') =>
      owned(lease).closePermission(requestId, reply, message),
    endRun: (lease: Lease, outcome: Outcome, error?: StructuredError) => owned(lease).endRun(outcome, error),
    abandonRun: (lease: Lease, error: StructuredError) => owned(lease).abandonRun(error),
    releaseLease: ({ workspace, sessionId, fence }: Lease) =>
      port.revise({ workspace, sessionId }, nothing, (revision) => giveBack(revision, fence)),
  }
}
