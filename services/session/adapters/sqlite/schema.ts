import { digestOf } from '#shared/stores/schema-step.ts'
import type { SqliteSchema } from '#shared/stores/sqlite-schema.ts'

/**
 * The tables of `session.sqlite`. Columns carry the names of `records.ts`. `claimableAt` says from when on the
 * session's lease may be given.
 *
 * A write costs as much as the pages that it changes. Each index adds one or two; an index that begins with the session
 * adds one for each session of the transaction, fewer if its keys are small. So messages are indexed by the session's
 * number.
 */
const CREATE = [
  `CREATE TABLE log (id TEXT NOT NULL, expired INTEGER NOT NULL DEFAULT 0) STRICT`,

  `CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, workspace TEXT NOT NULL, id TEXT NOT NULL, parentId TEXT, projectId TEXT NOT NULL,
    directory TEXT NOT NULL, subpath TEXT NOT NULL, title TEXT, titleSearch TEXT, titling TEXT,
    agent TEXT, model TEXT, metadata TEXT, permissions TEXT, fork TEXT, costNanos TEXT NOT NULL, tokens TEXT NOT NULL,
    outcome TEXT, timeCreated INTEGER NOT NULL, timeUpdated INTEGER NOT NULL, timeIdle INTEGER, timeViewed INTEGER,
    timeArchived INTEGER, seq INTEGER NOT NULL, due INTEGER NOT NULL, running INTEGER NOT NULL,
    interruptRequested INTEGER NOT NULL, wake TEXT, lastAdmitter TEXT, fence INTEGER NOT NULL,
    attempts INTEGER NOT NULL, leaseOwner TEXT, leaseUntil INTEGER NOT NULL, claimableAt INTEGER,
    UNIQUE (workspace, id)) STRICT`,
  `CREATE INDEX sessionsRoots ON sessions (workspace, timeUpdated, id) WHERE parentId IS NULL`,
  `CREATE INDEX sessionsChildren ON sessions (workspace, timeUpdated, id) WHERE parentId IS NOT NULL`,
  `CREATE INDEX sessionsByParent ON sessions (workspace, parentId, timeUpdated, id) WHERE parentId IS NOT NULL`,
  `CREATE INDEX sessionsByDirectory ON sessions (workspace, directory, timeUpdated, id)`,
  `CREATE INDEX sessionsAtProjectRoot ON sessions (workspace, projectId, timeUpdated, id) WHERE subpath = ''`,
  `CREATE INDEX sessionsBelowProjectRoot ON sessions (workspace, projectId, timeUpdated, id) WHERE subpath <> ''`,
  `CREATE INDEX sessionsBySubpath ON sessions (workspace, projectId, subpath, timeUpdated, id) WHERE subpath <> ''`,
  `CREATE INDEX sessionsClaimable ON sessions (claimableAt) WHERE claimableAt IS NOT NULL`,
  `CREATE INDEX sessionsLeased ON sessions (workspace, leaseUntil) WHERE leaseUntil > 0`,

  `CREATE TABLE hiddenSessions (
    number INTEGER PRIMARY KEY, workspace TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL,
    tools TEXT, above TEXT, until INTEGER NOT NULL) STRICT`,
  `CREATE INDEX hiddenSessionsById ON hiddenSessions (workspace, id)`,
  `CREATE INDEX hiddenSessionsByTime ON hiddenSessions (until)`,

  `CREATE TABLE inbox (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, sessionId TEXT NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, state TEXT NOT NULL, delivery TEXT NOT NULL, data TEXT NOT NULL, digest TEXT NOT NULL,
    admitter TEXT NOT NULL, timeCreated INTEGER NOT NULL, timeSettled INTEGER,
    PRIMARY KEY (workspace, id)) STRICT`,
  `CREATE INDEX inboxWaiting ON inbox (session, delivery, seq) WHERE state = 'waiting'`,
  `CREATE INDEX inboxCancelled ON inbox (session) WHERE state = 'cancelled'`,

  `CREATE TABLE messages (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, sessionId TEXT NOT NULL, seq INTEGER NOT NULL,
    type TEXT NOT NULL, data TEXT NOT NULL, unfinished INTEGER NOT NULL, attempt INTEGER NOT NULL,
    timeCreated INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)) STRICT`,
  `CREATE UNIQUE INDEX messagesBySeq ON messages (session, seq)`,
  `CREATE INDEX messagesUnfinished ON messages (session) WHERE unfinished = 1`,

  `CREATE TABLE parts (
    workspace TEXT NOT NULL, message TEXT NOT NULL, attempt INTEGER NOT NULL, ordinal INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (workspace, message, attempt, ordinal)) STRICT`,

  // Events name workspaces by their numbers. Those of no session are the last ones of removed sessions.
  `CREATE TABLE workspaces (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT`,
  `CREATE TABLE events (
    workspace INTEGER NOT NULL, position INTEGER NOT NULL, session INTEGER, seq INTEGER NOT NULL, id TEXT NOT NULL,
    sessionId TEXT NOT NULL, directory TEXT NOT NULL, timeCreated INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (workspace, position)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX eventsBySession ON events (session, seq)`,
  `CREATE INDEX eventsOfRemoved ON events (workspace, sessionId, seq) WHERE session IS NULL`,
  `CREATE TABLE expired (workspace INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT`,

  `CREATE TABLE activity (
    workspace TEXT NOT NULL, timeCreated INTEGER NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, type TEXT NOT NULL,
    model TEXT, costNanos TEXT, tokens TEXT, calls TEXT,
    PRIMARY KEY (workspace, timeCreated, id)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX activityBySession ON activity (session)`,

  `CREATE TABLE requests (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER, sessionId TEXT NOT NULL, seq INTEGER NOT NULL,
    data TEXT NOT NULL, reply TEXT, message TEXT NOT NULL, timeCreated INTEGER NOT NULL, timeExpires INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)) STRICT`,
  `CREATE INDEX requestsWaiting ON requests (workspace, timeCreated, seq) WHERE reply IS NULL`,
  `CREATE INDEX requestsWaitingInSession ON requests (workspace, sessionId, seq) WHERE reply IS NULL`,
  `CREATE INDEX requestsAnswered ON requests (session) WHERE reply IS NOT NULL`,

  `CREATE TABLE approvals (
    workspace TEXT NOT NULL, projectId TEXT NOT NULL, action TEXT NOT NULL, pattern TEXT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (workspace, projectId, action, pattern)) STRICT`,
  `CREATE UNIQUE INDEX approvalsById ON approvals (workspace, id)`,

  `CREATE TABLE blobUses (
    workspace TEXT NOT NULL, hash TEXT NOT NULL, message TEXT NOT NULL,
    PRIMARY KEY (workspace, hash, message)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX blobUsesByMessage ON blobUses (workspace, message)`,
  `CREATE TABLE looseBlobs (
    workspace TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (workspace, hash)) STRICT, WITHOUT ROWID`,
]

/** The schema of `session.sqlite`. */
export const SCHEMA: SqliteSchema = { create: CREATE, digest: digestOf(CREATE), steps: [] }
