import type { CallContext, Principal } from '#shared/rpc/call-context.ts'
import type { Agent, PreparedCall, ToolDescription } from './domain/agent.ts'
import type { DurableEvent, DurableEventData } from './domain/event.ts'
import type { GenerationEvent, GenerationRequest } from './domain/generation.ts'
import type { Admitter, Delivery, InboxItem } from './domain/inbox.ts'
import type { AssistantMessage, BlobRef, Message, Prompt, StructuredError } from './domain/message.ts'
import type { PermissionAnswer, PermissionReply, PermissionRequest, PermissionRule } from './domain/permission.ts'
import type { JsonObject, ModelRef, Outcome, Session, SessionLocation, TokenUsage } from './domain/session.ts'
import type { ReadFile, ToolEvent, ToolRun } from './domain/tool-run.ts'

/** A page of a list. `more` says whether further items follow in the direction that was read. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly more: boolean
}

export interface NewSession {
  readonly id: string
  readonly title: string | undefined
  readonly agent: string | undefined
  readonly model: ModelRef | undefined
  readonly location: SessionLocation
  readonly metadata: JsonObject | undefined
  readonly permissions: readonly PermissionRule[] | undefined
}

/** Filters are exact, but for `search`: part of the title, letter case ignored, `%` and `_` nothing special. */
export interface SessionQuery {
  readonly limit: number
  readonly order: 'ascending' | 'descending'
  readonly search?: string
  readonly directory?: string
  readonly projectId?: string
  readonly subpath?: string
  /** Null: root sessions only. */
  readonly parentId?: string | null
  /** Continues after this item (`next`) or before it (`previous`); items keep `order` either way. */
  readonly anchor?: { readonly timeUpdated: number; readonly id: string; readonly direction: 'next' | 'previous' }
}

export interface MessageQuery {
  readonly limit: number
  readonly order: 'ascending' | 'descending'
  readonly anchor?: { readonly seq: number; readonly direction: 'next' | 'previous' }
}

/** A message and its place in the conversation. */
export interface StoredMessage {
  readonly seq: number
  readonly message: Message
}

export interface Admission {
  readonly id: string
  readonly sessionId: string
  readonly prompt: Prompt
  readonly delivery: Delivery
  /** Digest of the request as the client sent it; a second admission of the id must have the same. */
  readonly digest: string
  readonly admitter: Admitter
  /** Wakes the session: it becomes due. */
  readonly wake: boolean
}

/** The right to drain one session, until it expires or a newer fence exists. */
export interface Lease {
  readonly workspace: string
  readonly sessionId: string
  readonly fence: number
}

export interface AcquiredLease extends Lease {
  /** A run was begun under an older fence and never ended: take over before anything else. */
  readonly unfinished: boolean
  /**
   * How many leases the session was given since it last got on, this one included: since a step was completed without
   * an error, or a run has ended. Those that were given back do not count.
   */
  readonly attempt: number
}

/** What a drain has to know between its writes. */
export interface LeaseState {
  /** Somebody asked to interrupt the run. */
  readonly interruptRequested: boolean
}

export interface Promotion {
  readonly messages: readonly StoredMessage[]
  /** Who admitted the last promoted input; undefined when nothing was promoted. */
  readonly admitter: Admitter | undefined
}

/** One write of a step: the state of its message, the events that go with it, and what it used when it ends. */
export interface StepRecord {
  readonly message: AssistantMessage
  readonly events: readonly DurableEventData[]
  /** Added to the session's totals; given once in a step, when it ends. */
  readonly usage?: { readonly costNanos: bigint; readonly tokens: TokenUsage }
}

/** What may have changed. May be told more often than needed; see SessionStore.onChange for how late it may come. */
export interface SessionChange {
  /** Undefined: any workspace and session. */
  readonly workspace: string | undefined
  readonly sessionId: string | undefined
}

/**
 * Sessions, their inbox, messages, events, leases and permission requests: one aggregate (design decision 2).
 *
 * Every write is one atomic use case: it resolves after the durable commit, and after a crash either all of it is there
 * or nothing. A counter on the session, raised in the same transaction, numbers its inbox items, messages and events;
 * ids never sort anything. Every method takes the workspace, and another workspace's record does not exist. Times are
 * the injected clock's, but for leases in MongoDB, which reckon with the server's.
 *
 * "Rejects with X" means: throws Rejection(X), and nothing was written. SESSION_NOT_FOUND is thrown by every method
 * that writes to a session which is not there.
 */
export interface SessionStore extends AsyncDisposable {
  /** Writes something small of its own, as a sign that the store can be written. */
  probe(): Promise<void>

  /** Writes a session and its session-created event. An existing id answers that session unchanged. */
  createSession(workspace: string, session: NewSession): Promise<Session>
  getSession(workspace: string, sessionId: string): Promise<Session | undefined>
  /**
   * Ordered by (timeUpdated, id). The cost of a page does not grow with the number of sessions, be it of all of them or
   * of a directory's, but for what other filters pass over.
   */
  listSessions(workspace: string, query: SessionQuery): Promise<Page<Session>>

  /**
   * Writes an inbox item with its inbox-enqueued event, moves timeUpdated, and, with `wake`, makes the session due. The
   * same id again with the same digest answers the first item, whether it still waits or is a message by now, and with
   * `wake` makes the session due all the same: an interrupt may have parked other inputs. Rejects with PROMPT_CONFLICT
   * (metadata message_id) when the id has another digest, another session of the workspace, or names another message.
   */
  admitPrompt(workspace: string, admission: Admission): Promise<InboxItem>
  /** The input of that id as it was admitted, whether it still waits or is a message by now. */
  getInput(workspace: string, sessionId: string, messageId: string): Promise<InboxItem | undefined>
  /** Writes the selection, an agent-switched message and an agent-selected event; moves timeUpdated. */
  selectAgent(workspace: string, sessionId: string, agent: string): Promise<void>
  /** Likewise; the selected model again (a variant `default` equals none) writes nothing. */
  selectModel(workspace: string, sessionId: string, model: ModelRef): Promise<void>

  /** Ordered by seq. Undefined: no such session. */
  listMessages(workspace: string, sessionId: string, query: MessageQuery): Promise<Page<StoredMessage> | undefined>
  getMessage(workspace: string, sessionId: string, messageId: string): Promise<StoredMessage | undefined>

  /** Whether a run is begun or due, or a lease is live. Undefined: no such session. */
  isBusy(workspace: string, sessionId: string): Promise<boolean | undefined>
  /** Sessions with a live lease. */
  listActive(workspace: string): Promise<readonly string[]>
  /**
   * Asks whoever drains the session to stop its run, and makes a session that is due no longer due: what waits by then
   * stays in the inbox until the next wake, and what is admitted afterwards is not concerned. Answers whether anything
   * was to be stopped. Undefined: no such session.
   */
  requestInterrupt(workspace: string, sessionId: string): Promise<boolean | undefined>

  /** Requests that wait for an answer and have not expired, oldest first, at most 1,000. */
  listPermissionRequests(workspace: string, sessionId?: string): Promise<readonly PermissionRequest[]>
  /**
   * Answers a waiting request and writes its permission-replied event. `always` saves its patterns for the project;
   * `reject` rejects every other waiting request of the session too, with the same message, and without one makes the
   * session no longer due, as an interrupt does. Rejects with PERMISSION_REQUEST_NOT_FOUND when it does not wait: unknown,
   * answered, expired, withdrawn.
   */
  replyPermission(workspace: string, sessionId: string, requestId: string, answer: PermissionAnswer): Promise<void>
  /** Approvals saved for a project, as `allow` rules. */
  savedApprovals(workspace: string, projectId: string): Promise<readonly PermissionRule[]>

  /**
   * Gives the lease of one session that has work (a run begun and not ended, or due inputs) and no live lease, with a
   * fence that is higher than any before. The session that has waited longest comes first, but none of the workspaces in
   * `except`. Undefined: there is none. Two callers never get one session at once.
   */
  acquireLease(owner: string, durationMs: number, except?: readonly string[]): Promise<AcquiredLease | undefined>

  // What follows is written under a lease. Each method rejects with LEASE_LOST, and writes nothing, when a newer fence
  // exists, the lease has expired or was released. Reads are refused likewise.

  /** Extends the lease. */
  renewLease(lease: Lease, durationMs: number): Promise<LeaseState>
  /**
   * Settles what an older owner left: unfinished tool calls become errors of type `aborted`, an unfinished step is
   * completed with an error of type `aborted` and what it used is added to the session's totals, waiting permission
   * requests are withdrawn; with the events of all that.
   */
  settleAborted(lease: Lease): Promise<void>
  /** The session as it is now, and whether an interrupt was asked for. */
  readLeased(lease: Lease): Promise<{ readonly session: Session } & LeaseState>
  /** Messages after a place in the conversation (0: all), in order. */
  readTranscript(lease: Lease, afterSeq: number): Promise<readonly StoredMessage[]>
  /** Who admitted the last input that was promoted; undefined before the first. */
  lastAdmitter(lease: Lease): Promise<Admitter | undefined>
  /**
   * Turns inbox items into user messages, each with its inbox-delivered event: at a `step` boundary every steer in order
   * of admission; at an `idle` boundary the oldest queued item too, all in order of admission. Begins the run
   * (execution-started) when something was promoted and none is begun; a due session stays due only when items are left.
   * Promotes nothing when an interrupt came before: the run was asked to stop, or none is begun and nothing is due.
   */
  promote(lease: Lease, boundary: 'step' | 'idle'): Promise<Promotion>
  /** Writes the state of a step; its message is inserted the first time. Answers the session's last seq. */
  recordStep(lease: Lease, record: StepRecord): Promise<number>
  /** Writes a waiting request with its permission-asked event. */
  askPermission(lease: Lease, request: PermissionRequest): Promise<void>
  /**
   * The answer to a request; undefined while nobody has answered it, be its time over. One that was closed has the reply
   * that it was closed with. Rejects with PERMISSION_REQUEST_NOT_FOUND when there is none, as closePermission does.
   */
  readPermissionAnswer(lease: Lease, requestId: string): Promise<PermissionAnswer | undefined>
  /**
   * Ends a request nobody answered in time or that is no longer needed, with its event. False: it was answered before, and
   * stays as it is.
   */
  closePermission(lease: Lease, requestId: string, reply: PermissionReply): Promise<boolean>
  /**
   * Ends the run: an execution-ended event, an idle message, outcome and timeIdle; clears a wish to interrupt. Releases
   * the lease; a session that is due stays due, and whoever acquires it next begins the next run. Where no run is begun,
   * only the lease is released.
   */
  endRun(lease: Lease, outcome: Outcome, error?: StructuredError): Promise<void>
  /**
   * Ends as failed what nobody gets on with. Like endRun; where no run is begun, one is begun and ended, and the inputs
   * that were due wait for the next wake.
   */
  abandonRun(lease: Lease, error: StructuredError): Promise<void>
  /**
   * Gives the lease back without ending the run: whoever acquires it next goes on, and it does not count as an attempt.
   * Of a lost lease only the latter is left to be done; it is no error here.
   */
  releaseLease(lease: Lease): Promise<void>

  /**
   * Calls the listener when something of a session may have changed: at once for writes of this process, within two
   * seconds for those of others. Never throws, and the listener must not either; ends when the answer is disposed.
   */
  onChange(listener: (change: SessionChange) => void): Disposable
  /**
   * Events of a workspace in log order: after a position, or from now on; then live, until the signal aborts or the store
   * is disposed. Pulled: a slow reader holds nothing but its place. The first item is `ready`: everything written after
   * it was seen will come. `missed` follows at once when the position is unknown or too old, and stands later where a
   * gap can't be filled.
   */
  tailEvents(workspace: string, position: string | undefined, signal: AbortSignal): AsyncIterable<TailItem>
}

export type TailItem =
  /** `position`: where the reader stands; what follows comes after it. */
  | { readonly type: 'ready'; readonly position: string }
  | { readonly type: 'missed' }
  | { readonly type: 'event'; readonly event: DurableEvent }

/** Content by hash, per workspace. Nothing is ever changed or, so far, deleted. */
export interface BlobStore extends AsyncDisposable {
  /** Keeps content of at most 20 MiB; resolves after it is durable. The same content again is no second copy. */
  put(workspace: string, data: Uint8Array): Promise<BlobRef>
  /** The content, or undefined when the workspace has none with that hash. */
  get(workspace: string, hash: string): Promise<Uint8Array | undefined>
}

/** What a call to another service carries: on whose behalf it is made, and a signal that ends it. */
export interface PeerCall extends CallContext {
  readonly principal: Principal
  readonly signal: AbortSignal
}

/**
 * The catalog service: directories, agents, tools. Rejects with the reasons of catalog_service.proto, and with
 * PEER_UNAVAILABLE when it can't be reached or does not answer in time.
 */
export interface Catalog {
  resolveLocation(call: PeerCall, directory: string): Promise<SessionLocation>
  /** An empty id: the location's default agent. */
  getAgent(call: PeerCall, directory: string, agentId: string): Promise<Agent>
  listTools(call: PeerCall, directory: string): Promise<readonly ToolDescription[]>
  readAttachment(call: PeerCall, directory: string, uri: string): Promise<ReadFile>
  prepareTool(call: PeerCall, directory: string, name: string, input: JsonObject): Promise<PreparedCall>
  /** Runs a call once, for as long as it takes; never to be repeated. */
  runTool(call: PeerCall, run: ToolRun): AsyncIterable<ToolEvent>
  endTools(call: PeerCall, sessionId: string, fence: number): Promise<void>
}

/** The inference service. Rejects with the reasons of inference_service.proto, and with PEER_UNAVAILABLE. */
export interface Inference {
  defaultModel(call: PeerCall): Promise<ModelRef>
  /** `blobs` holds the content of every medium in the request, by hash. Each item is what came at once. */
  generate(
    call: PeerCall,
    request: GenerationRequest,
    blobs: ReadonlyMap<string, Uint8Array>,
  ): AsyncIterable<readonly GenerationEvent[]>
}
