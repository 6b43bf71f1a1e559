import type { DatabaseSync } from 'node:sqlite'
import { FIRST_INPUT } from '#services/session/domain/session-state.ts'
import type { SqliteStep } from '#shared/stores/sqlite-schema.ts'
import { type ApprovalRecord, approvalRecord } from '../common/records.ts'
import { countBlobs } from './steps/count-blobs.ts'
import { countMessages } from './steps/count-messages.ts'
import { foldTitles } from './steps/fold-titles.ts'
import { indexLists } from './steps/index-lists.ts'
import { joinTitles } from './steps/join-titles.ts'
import { numberWorkspaces } from './steps/number-workspaces.ts'
import { placeTitles } from './steps/place-titles.ts'
import { splitMessages } from './steps/split-messages.ts'

/**
 * The first tables of `session.sqlite`, which later steps change: here, an input is a message without a place (`seq`)
 * in the conversation yet. Columns carry the names of `records.ts`. `claimableAt` says from when on the session's lease
 * may be given.
 *
 * A write costs as much as the pages that it changes. Each index adds one or two; an index that begins with the session
 * adds one for each session of the transaction, fewer if its keys are small. So messages are indexed by the session's
 * number.
 */
const FIRST = [
  `CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT`,

  `CREATE TABLE IF NOT EXISTS sessions (
    number INTEGER PRIMARY KEY, workspace TEXT NOT NULL, id TEXT NOT NULL, parentId TEXT, projectId TEXT NOT NULL,
    directory TEXT NOT NULL, subpath TEXT NOT NULL, title TEXT, titleSearch TEXT, agent TEXT, model TEXT,
    metadata TEXT, permissions TEXT, costNanos TEXT NOT NULL, tokens TEXT NOT NULL, outcome TEXT,
    timeCreated INTEGER NOT NULL, timeUpdated INTEGER NOT NULL, timeIdle INTEGER, seq INTEGER NOT NULL,
    due INTEGER NOT NULL, running INTEGER NOT NULL, interruptRequested INTEGER NOT NULL, lastAdmitter TEXT,
    fence INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, leaseOwner TEXT, leaseUntil INTEGER NOT NULL, claimableAt INTEGER,
    UNIQUE (workspace, id)) STRICT`,
  `CREATE INDEX IF NOT EXISTS sessionsByTime ON sessions (workspace, timeUpdated, id, parentId, projectId)`,
  `CREATE INDEX IF NOT EXISTS sessionsByDirectory ON sessions (workspace, directory, timeUpdated, id)`,
  `CREATE INDEX IF NOT EXISTS sessionsClaimable ON sessions (claimableAt) WHERE claimableAt IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS sessionsLeased ON sessions (workspace, leaseUntil) WHERE leaseUntil > 0`,

  `CREATE TABLE IF NOT EXISTS messages (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, sessionId TEXT NOT NULL, seq INTEGER,
    type TEXT NOT NULL, data TEXT NOT NULL, unfinished INTEGER NOT NULL, admitted INTEGER, delivery TEXT,
    digest TEXT, admitter TEXT, timeCreated INTEGER NOT NULL, timeDelivered INTEGER,
    PRIMARY KEY (workspace, id)) STRICT`,
  `CREATE UNIQUE INDEX IF NOT EXISTS messagesBySeq ON messages (session, seq) WHERE seq IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS messagesWaiting ON messages (session, delivery, admitted) WHERE seq IS NULL`,
  `CREATE INDEX IF NOT EXISTS messagesUnfinished ON messages (session) WHERE unfinished = 1`,

  `CREATE TABLE IF NOT EXISTS events (
    workspace TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL, sessionId TEXT NOT NULL,
    seq INTEGER NOT NULL, directory TEXT NOT NULL, timeCreated INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (workspace, position)) STRICT, WITHOUT ROWID`,

  `CREATE TABLE IF NOT EXISTS requests (
    workspace TEXT NOT NULL, id TEXT NOT NULL, sessionId TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL,
    reply TEXT, message TEXT NOT NULL, timeCreated INTEGER NOT NULL, timeExpires INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)) STRICT`,
  `CREATE INDEX IF NOT EXISTS requestsWaiting ON requests (workspace, timeCreated, seq) WHERE reply IS NULL`,
  `CREATE INDEX IF NOT EXISTS requestsWaitingInSession ON requests (workspace, sessionId, seq) WHERE reply IS NULL`,

  `CREATE TABLE IF NOT EXISTS approvals (
    workspace TEXT NOT NULL, projectId TEXT NOT NULL, action TEXT NOT NULL, pattern TEXT NOT NULL,
    PRIMARY KEY (workspace, projectId, action, pattern)) STRICT`,
]

/** The steps of `session.sqlite`. */
export const STEPS: readonly SqliteStep[] = [
  { version: 1, name: 'the first schema', up: first },
  { version: 2, name: 'inbox items and the parts of messages have rows of their own', up: splitMessages },
  { version: 3, name: 'events can be read by session, and expire', up: indexEvents },
  { version: 4, name: 'lists have an index for each filter, and titles have one for searches', up: indexLists },
  { version: 5, name: 'sessions can be removed, and written before they are seen', up: hideSessions },
  { version: 6, name: 'sessions record how they were woken', up: addWake },
  { version: 7, name: 'statistics have rows of their own', up: countMessages },
  { version: 8, name: 'sessions are viewed and get titles, and approvals have ids', up: addTitles },
  { version: 9, name: 'blobs are counted by their uses', up: countBlobs },
  { version: 10, name: 'sessions can be archived', up: addArchive },
  { version: 11, name: 'sessions below a removed one are removed after it', up: addAbove },
  { version: 12, name: 'titles are indexed in the order of activity', up: placeTitles },
  { version: 13, name: 'expired events are recorded by workspace', up: addExpired },
  { version: 14, name: 'the last event of a removed session is found by its id', up: indexRemovals },
  { version: 15, name: 'searches handle more of letter case', up: foldTitles },
  { version: 16, name: 'sessions hold their places among the titles', up: joinTitles },
  { version: 17, name: 'events name workspaces by numbers', up: numberWorkspaces },
]

/** Also completes files of the time before versions. */
function first(database: DatabaseSync): void {
  database.exec(FIRST.join(';\n'))
  const attempts = `SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'attempts'`
  if (database.prepare(attempts).get() !== undefined) return
  database.exec('ALTER TABLE sessions ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0')
}

function addWake(database: DatabaseSync): void {
  database.exec('ALTER TABLE sessions ADD COLUMN wake TEXT')
}

function indexEvents(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE log ADD COLUMN expired INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE events ADD COLUMN session INTEGER;
    UPDATE events SET session =
      (SELECT number FROM sessions WHERE sessions.workspace = events.workspace AND sessions.id = events.sessionId);
    CREATE INDEX eventsBySession ON events (session, seq)`)
}

function hideSessions(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE sessions ADD COLUMN fork TEXT;
    CREATE TABLE hiddenSessions (
      number INTEGER PRIMARY KEY, workspace TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, seq INTEGER NOT NULL,
      tools TEXT, until INTEGER NOT NULL) STRICT;
    CREATE INDEX hiddenSessionsById ON hiddenSessions (workspace, id);
    CREATE INDEX hiddenSessionsByTime ON hiddenSessions (until);
    CREATE INDEX inboxCancelled ON inbox (session) WHERE state = 'cancelled';
    ALTER TABLE requests ADD COLUMN session INTEGER;
    UPDATE requests SET session =
      (SELECT number FROM sessions WHERE sessions.workspace = requests.workspace AND sessions.id = requests.sessionId);
    CREATE INDEX requestsAnswered ON requests (session) WHERE reply IS NOT NULL`)
}

/** What `log` has of it holds for all workspaces, as before. */
function addExpired(database: DatabaseSync): void {
  database.exec('CREATE TABLE expired (workspace TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID')
}

/** Events that are of no session's row are those of removals. */
function indexRemovals(database: DatabaseSync): void {
  database.exec('CREATE INDEX eventsOfRemoved ON events (workspace, sessionId, seq) WHERE session IS NULL')
}

function addArchive(database: DatabaseSync): void {
  database.exec('ALTER TABLE sessions ADD COLUMN timeArchived INTEGER')
}

function addAbove(database: DatabaseSync): void {
  database.exec('ALTER TABLE hiddenSessions ADD COLUMN above TEXT')
}

function addTitles(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE sessions ADD COLUMN timeViewed INTEGER;
    ALTER TABLE sessions ADD COLUMN titling TEXT;
    UPDATE sessions SET titling = '${FIRST_INPUT}' WHERE title IS NULL AND lastAdmitter IS NULL;
    ALTER TABLE approvals ADD COLUMN id TEXT NOT NULL DEFAULT ''`)
  const update = database.prepare(
    'UPDATE approvals SET id = ? WHERE workspace = ? AND projectId = ? AND action = ? AND pattern = ?',
  )
  const approvals = database.prepare('SELECT workspace, projectId, action, pattern FROM approvals').all()
  for (const row of approvals as unknown as Omit<ApprovalRecord, 'id'>[]) {
    const { id, workspace, projectId, action, pattern } = approvalRecord(row.workspace, row)
    update.run(id, workspace, projectId, action, pattern)
  }
  database.exec('CREATE UNIQUE INDEX approvalsById ON approvals (workspace, id)')
}
