import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  ForkOriginSchema,
  type Outcome,
  PermissionRulesetSchema,
  type Session,
  SessionSchema,
  TokenUsageSchema,
} from '#gen/portico/session/v1/session_pb.js'
import type { Admitter } from '#services/session/domain/inbox.ts'
import type { LeftTools, RemovedState } from '#services/session/domain/lifetime/removal.ts'
import type { SessionState, Wake } from '#services/session/domain/session-state.ts'
import type { Write } from '#services/session/domain/write.ts'
import type { UnreadableSession } from '#services/session/ports/session-lists.ts'
import type { StagedKind } from '#services/session/ports/session-staging.ts'
import type { JsonObject } from '#shared/json.ts'
import {
  decimal,
  defineTable,
  flag,
  fromRow,
  integer,
  json,
  message,
  optional,
  type RowOf,
  text,
  toChanges,
  toRow,
} from '#shared/stores/table.ts'
import { foldCase } from '../common/fold-case.ts'
import { ADMITTER } from './inbox.ts'

const shared = {
  sessionId: text(),
  directory: text(),
  projectId: text(),
  subpath: text(),
  agent: optional(text()),
  model: optional(message(ModelRefSchema)),
  costNanos: decimal(),
  tokens: message(TokenUsageSchema),
  outcome: optional(integer<Outcome>()),
  updateTime: integer(),
  idleTime: optional(integer()),
  viewTime: optional(integer()),
}

export const stateColumns = {
  ...shared,
  titling: optional(text()),
  seq: integer(),
  due: flag(),
  wake: optional(json<Wake>(`at, steersOnly, resume, resumer (${ADMITTER})`)),
  running: flag(),
  interruptRequested: flag(),
  lastAdmitter: optional(json<Admitter>(ADMITTER)),
  fence: integer(),
  acquisitions: integer(),
  leaseUntil: integer(),
  claimableAt: optional(integer()),
}

/** The columns of a `Session`. What may be long comes last. */
export const sessionColumns = {
  ...shared,
  parentId: optional(text()),
  title: optional(text()),
  createTime: integer(),
  archiveTime: optional(integer()),
  fork: optional(message(ForkOriginSchema)),
  permissions: optional(message(PermissionRulesetSchema)),
  metadata: optional(json<JsonObject>('any members')),
}

const only = (condition: object) => ({ partialFilterExpression: condition })

/**
 * `titleSearch` is the title as searches compare it (`foldCase`), and `leaseOwner` names the holder of the newest lease
 * for people.
 *
 * In SQLite, a session that moves up in the lists moves in as few indexes as possible (`session-plan.ts`).
 */
export const sessions = defineTable({
  name: 'sessions',
  columns: {
    workspace: text(),
    titleSearch: optional(text()),
    leaseOwner: optional(text()),
    ...stateColumns,
    ...sessionColumns,
  },
  sqlite: {
    columns: { number: integer() },
    primaryKey: ['number'],
    constraints: ['UNIQUE (workspace, sessionId)'],
    indexes: {
      sessionsRoots: '(workspace, updateTime, sessionId) WHERE parentId IS NULL',
      sessionsChildren: '(workspace, updateTime, sessionId) WHERE parentId IS NOT NULL',
      sessionsByParent: '(workspace, parentId, updateTime, sessionId) WHERE parentId IS NOT NULL',
      sessionsByDirectory: '(workspace, directory, updateTime, sessionId)',
      sessionsAtProjectRoot: "(workspace, projectId, updateTime, sessionId) WHERE subpath = ''",
      sessionsBelowProjectRoot: "(workspace, projectId, updateTime, sessionId) WHERE subpath <> ''",
      sessionsBySubpath: "(workspace, projectId, subpath, updateTime, sessionId) WHERE subpath <> ''",
      sessionsClaimable: '(claimableAt) WHERE claimableAt IS NOT NULL',
      sessionsLeased: '(workspace, leaseUntil) WHERE leaseUntil > 0',
    },
  },
  mongo: {
    columns: {
      /** Incremented by every write, so that each transaction changes the record of its session. */
      version: integer(),
      /** The numbers of its documents are above this. */
      base: integer(),
      /** The last change that somebody may wait for; see `MongoNotices`. */
      notice: optional(text()),
    },
    indexes: [
      { name: 'sessionsByTime', key: { workspace: 1, updateTime: 1, sessionId: 1 } },
      { name: 'sessionsByParent', key: { workspace: 1, parentId: 1, updateTime: 1, sessionId: 1 } },
      { name: 'sessionsByProject', key: { workspace: 1, projectId: 1, updateTime: 1, sessionId: 1 } },
      { name: 'sessionsBySubpath', key: { workspace: 1, projectId: 1, subpath: 1, updateTime: 1, sessionId: 1 } },
      { name: 'sessionsByDirectory', key: { workspace: 1, directory: 1, updateTime: 1, sessionId: 1 } },
      { name: 'sessionsClaimable', key: { claimableAt: 1 }, ...only({ claimableAt: { $gt: 0 } }) },
      { name: 'sessionsLeased', key: { workspace: 1, leaseUntil: 1 }, ...only({ leaseUntil: { $gt: 0 } }) },
    ],
  },
})

export type SessionRecord = RowOf<typeof sessions.columns>
export type StateRecord = RowOf<typeof stateColumns>
export type PublicRecord = RowOf<typeof sessionColumns>

/**
 * Sessions that have rows but are not visible: they are incomplete, or are being removed. `above` is of a removal below
 * which sessions may still be there: the ids of the session's ancestors, nearest first. `until` is when a staged
 * session becomes a removal, and when a removal may be acquired; in MongoDB, by the server's clock. `seq` is the last
 * number of the session.
 */
export const hiddenSessions = defineTable({
  name: 'hiddenSessions',
  columns: {
    workspace: text(),
    sessionId: text(),
    kind: text<StagedKind | 'removal'>(),
    seq: integer(),
    tools: optional(json<LeftTools>(`fence, admitter (${ADMITTER})`)),
    above: optional(json<readonly string[]>('texts')),
    until: integer(),
  },
  sqlite: {
    columns: { number: integer() },
    primaryKey: ['number'],
    indexes: { hiddenSessionsById: '(workspace, sessionId)', hiddenSessionsByTime: '(until)' },
  },
  mongo: {
    /** The numbers of its documents are above this, and differ from those of other sessions with the same id. */
    columns: { base: integer() },
    indexes: [
      { name: 'hiddenSessionsById', key: { workspace: 1, sessionId: 1 } },
      { name: 'hiddenSessionsByTime', key: { until: 1 } },
    ],
  },
})

/** The complete record of a new session, in the state after its creation. */
export function newSessionRecord(workspace: string, session: Session, state: SessionState): SessionRecord {
  const others = { workspace, titleSearch: searchOf(session.title), leaseOwner: undefined }
  return toRow(sessions.columns, { ...session, ...state, ...others })
}

/** Changed members of a state, as they are stored. */
export function toStateChanges(changes: Partial<SessionState>): Partial<StateRecord> {
  return toChanges(stateColumns, changes)
}

/** The title, metadata and rules of a session, as far as they change. */
export function descriptionRecord({ type: _, ...changes }: Extract<Write, { type: 'describe' }>) {
  const record = toChanges(sessionColumns, changes)
  return changes.title === undefined ? record : { ...record, titleSearch: searchOf(changes.title) }
}

function searchOf(title: string | undefined): string | undefined {
  return title === undefined ? undefined : foldCase(title)
}

export function toState(record: StateRecord): SessionState {
  return fromRow(stateColumns, record)
}

export function toSession(record: PublicRecord): Session {
  return create(SessionSchema, fromRow(sessionColumns, record))
}

export function toListed(record: PublicRecord): Session | UnreadableSession {
  try {
    return toSession(record)
  } catch (unreadable) {
    const { sessionId, updateTime } = record
    return { sessionId, updateTime, unreadable }
  }
}

/** What the removal of a session needs. It has to succeed even if a record is damaged. */
export function toRemoved(record: StateRecord): RemovedState {
  const { sessionId, directory, running, leaseUntil, fence, seq } = record
  return { sessionId, directory, running: running === 1, leaseUntil, fence, seq, lastAdmitter: admitterOf(record) }
}

/** Undefined as well if that cannot be read: then nobody's tools can be ended. */
function admitterOf({ lastAdmitter }: StateRecord): Admitter | undefined {
  try {
    return stateColumns.lastAdmitter.decode(lastAdmitter)
  } catch {
    return undefined
  }
}
