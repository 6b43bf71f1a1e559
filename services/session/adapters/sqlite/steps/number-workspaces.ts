import type { DatabaseSync } from 'node:sqlite'

/** Events, and what has expired of them, name workspaces by numbers (`workspace-numbers.ts`). */
export function numberWorkspaces(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE workspaces (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO workspaces (id) SELECT DISTINCT workspace FROM events UNION SELECT workspace FROM expired;

    CREATE TABLE newExpired (workspace INTEGER PRIMARY KEY, position INTEGER NOT NULL) STRICT;
    INSERT INTO newExpired SELECT number, position FROM expired JOIN workspaces ON id = workspace;
    DROP TABLE expired;
    ALTER TABLE newExpired RENAME TO expired;

    CREATE TABLE newEvents (
      workspace INTEGER NOT NULL, position INTEGER NOT NULL, session INTEGER, seq INTEGER NOT NULL, id TEXT NOT NULL,
      sessionId TEXT NOT NULL, directory TEXT NOT NULL, timeCreated INTEGER NOT NULL, data TEXT NOT NULL,
      PRIMARY KEY (workspace, position)) STRICT, WITHOUT ROWID;
    INSERT INTO newEvents
      SELECT number, position, session, seq, events.id, sessionId, directory, timeCreated, data
      FROM workspaces CROSS JOIN events ON workspace = workspaces.id ORDER BY number, position;
    DROP TABLE events;
    ALTER TABLE newEvents RENAME TO events;
    CREATE INDEX eventsBySession ON events (session, seq);
    CREATE INDEX eventsOfRemoved ON events (workspace, sessionId, seq) WHERE session IS NULL`)
}
