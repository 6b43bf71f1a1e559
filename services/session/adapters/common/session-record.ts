import type { Admitter } from '#services/session/domain/inbox.ts'
import type { RemovedState } from '#services/session/domain/lifetime/removal.ts'
import type { PermissionRule } from '#services/session/domain/permission/permission.ts'
import type { ForkOrigin, ModelRef, Outcome, Session, TokenUsage } from '#services/session/domain/session.ts'
import type { SessionState, Wake } from '#services/session/domain/session-state.ts'
import type { UnreadableSession } from '#services/session/ports/session-lists.ts'
import type { JsonObject } from '#shared/json.ts'

/** The fields of a session that rules read and change, as they are stored. */
export interface StateRecord {
  readonly id: string
  readonly directory: string
  readonly projectId: string
  readonly subpath: string
  readonly agent: string | null
  /** JSON. */
  readonly model: string | null
  /** Decimal. */
  readonly costNanos: string
  /** JSON. */
  readonly tokens: string
  readonly outcome: Outcome | null
  readonly timeUpdated: number
  readonly timeIdle: number | null
  readonly timeViewed: number | null
  readonly titling: string | null
  readonly seq: number
  readonly due: 0 | 1
  /** JSON. */
  readonly wake: string | null
  readonly running: 0 | 1
  readonly interruptRequested: 0 | 1
  /** JSON. */
  readonly lastAdmitter: string | null
  readonly fence: number
  /** The state's `acquisitions`. */
  readonly attempts: number
  readonly leaseUntil: number
  readonly claimableAt: number | null
}

/** A session as it is stored. */
export interface SessionRecord extends StateRecord {
  readonly workspace: string
  readonly parentId: string | null
  /** JSON. */
  readonly fork: string | null
  readonly title: string | null
  /** The title in the form that searches compare (`foldCase`). */
  readonly titleSearch: string | null
  /** JSON. */
  readonly metadata: string | null
  /** JSON. */
  readonly permissions: string | null
  /** Who holds or held the newest lease; for people. */
  readonly leaseOwner: string | null
  readonly timeCreated: number
  readonly timeArchived: number | null
}

/** What `toState` reads. */
export const STATE_FIELDS = [
  'id',
  'directory',
  'projectId',
  'subpath',
  'agent',
  'model',
  'costNanos',
  'tokens',
  'outcome',
  'timeUpdated',
  'timeIdle',
  'timeViewed',
  'titling',
  'seq',
  'due',
  'wake',
  'running',
  'interruptRequested',
  'lastAdmitter',
  'fence',
  'attempts',
  'leaseUntil',
  'claimableAt',
] as const satisfies readonly (keyof StateRecord)[]

/** What `toSession` reads. */
export const SESSION_FIELDS = [
  'id',
  'parentId',
  'fork',
  'title',
  'agent',
  'model',
  'directory',
  'projectId',
  'subpath',
  'metadata',
  'permissions',
  'costNanos',
  'tokens',
  'outcome',
  'timeCreated',
  'timeUpdated',
  ...(['timeIdle', 'timeViewed', 'timeArchived'] as const),
] as const satisfies readonly (keyof SessionRecord)[]

/** The members of a record that a session is made of. */
export type PublicRecord = Pick<SessionRecord, (typeof SESSION_FIELDS)[number]>

export function toState(record: StateRecord): SessionState {
  return {
    id: record.id,
    directory: record.directory,
    projectId: record.projectId,
    subpath: record.subpath,
    agent: record.agent ?? undefined,
    model: modelOf(record.model),
    costNanos: BigInt(record.costNanos),
    tokens: JSON.parse(record.tokens) as TokenUsage,
    outcome: record.outcome ?? undefined,
    timeUpdated: record.timeUpdated,
    timeIdle: record.timeIdle ?? undefined,
    timeViewed: record.timeViewed ?? undefined,
    titling: record.titling ?? undefined,
    seq: record.seq,
    due: record.due === 1,
    // Missing in older documents.
    wake: fromJson<Wake>(record.wake ?? null),
    running: record.running === 1,
    interruptRequested: record.interruptRequested === 1,
    lastAdmitter: fromJson<Admitter>(record.lastAdmitter),
    fence: record.fence,
    // Missing in documents that were written before acquisitions were counted.
    acquisitions: record.attempts ?? 0,
    leaseUntil: record.leaseUntil,
    claimableAt: record.claimableAt ?? undefined,
  }
}

export function toSession(record: PublicRecord): Session {
  return {
    id: record.id,
    parentId: record.parentId ?? undefined,
    // Missing in older documents.
    fork: fromJson<ForkOrigin>(record.fork ?? null),
    title: record.title ?? undefined,
    agent: record.agent ?? undefined,
    model: modelOf(record.model),
    location: { directory: record.directory, projectId: record.projectId, subpath: record.subpath },
    metadata: fromJson<JsonObject>(record.metadata),
    permissions: fromJson<readonly PermissionRule[]>(record.permissions),
    costNanos: BigInt(record.costNanos),
    tokens: JSON.parse(record.tokens) as TokenUsage,
    outcome: record.outcome ?? undefined,
    timeCreated: record.timeCreated,
    timeUpdated: record.timeUpdated,
    timeIdle: record.timeIdle ?? undefined,
    timeViewed: record.timeViewed ?? undefined,
    timeArchived: record.timeArchived ?? undefined,
  }
}

/** A session of a list. */
export function toListed(record: PublicRecord): Session | UnreadableSession {
  try {
    return toSession(record)
  } catch (unreadable) {
    return { id: record.id, timeUpdated: record.timeUpdated, unreadable }
  }
}

/** What the removal of a session needs. It has to succeed even if a record is damaged. */
export function toRemoved(record: StateRecord): RemovedState {
  const { directory, running, leaseUntil, fence, seq } = record
  return { directory, running: running === 1, leaseUntil, fence, seq, lastAdmitter: admitterOf(record) }
}

/** Undefined as well if that cannot be read: then nobody's tools can be ended. */
function admitterOf({ lastAdmitter }: StateRecord): Admitter | undefined {
  try {
    return fromJson<Admitter>(lastAdmitter)
  } catch {
    return undefined
  }
}

function modelOf(text: string | null): ModelRef | undefined {
  const model = fromJson<ModelRef>(text)
  if (model !== undefined && typeof model.modelId !== 'string') throw new SyntaxError('What is stored is no model')
  return model
}

function fromJson<T>(text: string | null): T | undefined {
  return text === null ? undefined : ((JSON.parse(text) as T | null) ?? undefined)
}
