import assert from 'node:assert/strict'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantMessageSchema,
  type AssistantPart,
  type AssistantTool,
  type Message,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import {
  Delivery,
  InboxItemSchema,
  type PermissionRequest,
  PermissionRequestSchema,
  type Prompt,
  PromptSchema,
  type Session,
  type SessionLocation,
  SessionLocationSchema,
  SessionSchema,
  SyntheticTextSchema,
} from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { Admission, Admitter, InboxEntry } from '#services/session/domain/inbox.ts'
import { type MessageOf, messageOf, type StoredMessage } from '#services/session/domain/message.ts'
import type { AcquiredLease, Lease } from '#services/session/ports/lease.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { Clock } from '#shared/clock.ts'
import type { TestAdmission, UseCases } from '#test/support/session-use-cases.ts'
import { type CallInit, stepPart } from '#test/support/step-part.ts'

/** An empty store, and what a test may do to its surroundings. */
export interface StoreFixture extends AsyncDisposable {
  readonly store: UseCases
  /** The store's clock. */
  readonly clock: ManualClock
  /** A lease that outlives any test. */
  readonly longMs: number
  /** A lease that `outlast` outlasts. */
  readonly shortMs: number
  /** Every row of every table, or every document of every collection; reopens the store if needed. */
  contents(): Promise<Readonly<Record<string, readonly object[]>>>
  /** Makes a field of a record unreadable (default: no JSON); reopens the store if needed. */
  damage(records: 'sessions' | 'requests', id: string, field: string, text?: string): Promise<void>
  /** Lets time pass until a lease of `shortMs` has run out. */
  outlast(): Promise<void>
}

/** Runs a test on an empty store of its own. */
export type StoreTest = (title: string, body: (fixture: StoreFixture) => Promise<void>) => void

/** A clock that moves on demand. */
export class ManualClock implements Clock {
  #now = 1_800_000_000_000

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }
}

export const W = 'wrk_one'
export const OTHER = 'wrk_other'

export const admitter: Admitter = { organizationId: 'org_1', workspaceId: W, apiKeyId: 'key_1', kind: 'workspace' }

export function newSession(id = 'ses_1', changes: MessageInitShape<typeof SessionSchema> = {}): Session {
  return create(SessionSchema, { sessionId: id, directory: '/project', projectId: 'prj_1', ...changes })
}

/** How an admission differs from most. */
type AdmissionChanges = Partial<Omit<Admission, 'id' | 'payload'> & { readonly sessionId: string }>

export function admission(id: string, changes: AdmissionChanges & { prompt?: Prompt; text?: string } = {}) {
  const { text = id, prompt = create(PromptSchema, { text }), ...rest } = changes
  return {
    id,
    sessionId: 'ses_1',
    payload: { case: 'prompt', value: prompt } as const,
    delivery: Delivery.STEER,
    digest: `digest of ${text}`,
    admitter,
    wake: true,
    ...rest,
  }
}

export function syntheticAdmission(
  id: string,
  synthetic: MessageInitShape<typeof SyntheticTextSchema> & { readonly text: string },
): TestAdmission {
  const payload = { case: 'synthetic', value: create(SyntheticTextSchema, synthetic) } as const
  return { ...admission(id, { digest: `digest of ${synthetic.text}` }), payload }
}

export function moveAdmission(id: string, changes: AdmissionChanges & { move?: SessionLocation } = {}) {
  const { move = create(SessionLocationSchema, { directory: '/project', projectId: 'prj_1' }), ...rest } = changes
  return { ...admission(id, rest), payload: { case: 'move', value: move } as const }
}

/** An item that waits. */
export function inboxEntry(seq: number, type: 'prompt' | 'move' = 'prompt', delivery = Delivery.STEER): InboxEntry {
  const messageId = `msg_${seq}`
  const { payload, sessionId, digest } = type === 'prompt' ? admission(messageId) : moveAdmission(messageId)
  const item = create(InboxItemSchema, { messageId, sessionId, delivery, payload })
  return { seq, item, state: 'waiting', digest, admitter }
}

/** Admits inputs of one delivery, one after the other. */
export async function admit(store: UseCases, delivery: Delivery, ...ids: string[]): Promise<void> {
  for (const id of ids) await store.admit(W, admission(id, { delivery }))
}

/** A session with a begun run: the lease, and the message that began it (`msg_first`). */
export async function begin({ store, longMs }: StoreFixture, durationMs = longMs): Promise<AcquiredLease> {
  await store.createSession(W, newSession())
  await admit(store, Delivery.STEER, 'msg_first')
  const lease = await acquire(store, durationMs)
  await store.promote(lease, 'idle')
  return lease
}

export async function acquire(store: UseCases, durationMs: number, owner = 'own_1'): Promise<AcquiredLease> {
  const lease = await store.acquireLease(owner, durationMs)
  assert.ok(lease, 'there is a session to drain')
  return lease
}

export function assistant(
  messageId: string,
  changes: StepInit = {},
  createTime = 1_800_000_000_000,
): MessageOf<'assistant'> {
  const begun = { agent: 'build', model: MODEL, attempt: 1 }
  return messageOf({ messageId, createTime }, 'assistant', { ...begun, ...changes })
}

/** A step as a test writes it. */
export type StepInit = Exclude<MessageInitShape<typeof AssistantMessageSchema>, { readonly $typeName: string }>

/** The model of steps. */
export const MODEL = create(ModelRefSchema, { providerId: 'portico', modelId: 'echo' })

const STATES = {
  streaming: State.STREAMING,
  running: State.RUNNING,
  completed: State.COMPLETED,
  error: State.ERROR,
}

export function toolPart(callId: string, state: keyof typeof STATES, changes: CallInit = {}): AssistantPart {
  return stepPart('tool', {
    callId,
    name: 'read',
    state: STATES[state],
    rawInput: '{"path":"README.md"}',
    input: { path: 'README.md' },
    createTime: 1_800_000_000_000,
    runTime: state === 'streaming' ? undefined : 1_800_000_000_000,
    completeTime: state === 'completed' ? 1_800_000_000_000 : undefined,
    ...changes,
  })
}

/** The call in a part of a step. */
export function callIn(part: AssistantPart | undefined): AssistantTool {
  assert.ok(part?.part.case === 'tool')
  return part.part.value
}

export function request(
  requestId: string,
  changes: Exclude<MessageInitShape<typeof PermissionRequestSchema>, PermissionRequest> = {},
): PermissionRequest {
  return create(PermissionRequestSchema, {
    requestId,
    sessionId: 'ses_1',
    action: 'edit',
    resources: ['src/a.ts'],
    savePatterns: ['src/*', 'test/*'],
    messageId: 'msg_step',
    callId: 'call_1',
    createTime: 1_800_000_000_000,
    expireTime: 1_800_000_060_000,
    ...changes,
  })
}

/** The session, which must exist. */
export async function get(store: UseCases, sessionId = 'ses_1'): Promise<Session> {
  const session = await store.getSession(W, sessionId)
  assert.ok(session)
  return session
}

/** What a list contains, ascending and at most 50 unless the query says otherwise. */
export async function listed(store: UseCases, query: Partial<SessionQuery>, workspace = W): Promise<Session[]> {
  const sessions: Session[] = []
  const batches = store.listSessions(workspace, { limit: 50, order: Order.ASCENDING, ...query })
  for await (const batch of batches) {
    for (const session of batch) {
      assert.ok(!('unreadable' in session))
      sessions.push(session)
    }
  }
  return sessions
}

/** All messages of a session, in order. */
export async function messages(store: UseCases, sessionId = 'ses_1'): Promise<readonly StoredMessage[]> {
  const page = await store.listMessages(W, sessionId, { limit: 1_000, order: Order.ASCENDING })
  assert.ok(page)
  return page.items
}

/** Ids of messages; those that the store generated are replaced by the kinds of their messages. */
export function names(items: readonly { readonly message: Message }[]): string[] {
  return items.map(({ message: { messageId, kind } }) => {
    return ['user', 'assistant', 'synthetic'].includes(kind.case ?? '') ? messageId : (kind.case ?? '')
  })
}

/** Without undefined members, as values come back from a store, and without the names of their types. */
export function plain<T>(value: T): T {
  if (Array.isArray(value)) return value.map(plain) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name, member]) => name !== '$typeName' && member !== undefined)
  return Object.fromEntries(entries.map(([key, member]) => [key, plain(member)])) as T
}

/** What `assert.rejects` expects of a refusal. */
export function refusal(reason: string, metadata?: Record<string, string>) {
  return { name: 'Rejection', reason, ...(metadata === undefined ? {} : { metadata }) }
}

/** A lease that is one takeover behind. */
export function stale(lease: Lease): Lease {
  return { ...lease, fence: lease.fence - 1 }
}
