import type { DatabaseSync } from 'node:sqlite'
import { type OldMessage, splitMessage } from '#services/session/adapters/common/split-message.ts'

const TABLES = `
  CREATE TABLE inbox (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, sessionId TEXT NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, state TEXT NOT NULL, delivery TEXT NOT NULL, data TEXT NOT NULL, digest TEXT NOT NULL,
    admitter TEXT NOT NULL, timeCreated INTEGER NOT NULL, timeSettled INTEGER,
    PRIMARY KEY (workspace, id)) STRICT;
  CREATE INDEX inboxWaiting ON inbox (session, delivery, seq) WHERE state = 'waiting';

  CREATE TABLE parts (
    workspace TEXT NOT NULL, message TEXT NOT NULL, attempt INTEGER NOT NULL, ordinal INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (workspace, message, attempt, ordinal)) STRICT;

  CREATE TABLE newMessages (
    workspace TEXT NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, sessionId TEXT NOT NULL, seq INTEGER NOT NULL,
    type TEXT NOT NULL, data TEXT NOT NULL, unfinished INTEGER NOT NULL, attempt INTEGER NOT NULL,
    timeCreated INTEGER NOT NULL,
    PRIMARY KEY (workspace, id)) STRICT`

/** Inbox items and the parts of messages get rows of their own. */
export function splitMessages(database: DatabaseSync): void {
  database.exec(TABLES)
  const inserts = {
    inbox: inserter(database, 'inbox', 13),
    parts: inserter(database, 'parts', 5),
    messages: inserter(database, 'newMessages', 10),
  }
  const rows = database.prepare('SELECT * FROM messages').iterate() as Iterable<unknown>
  for (const row of rows as Iterable<OldMessage & { readonly session: number }>) {
    const { item, message, parts } = splitMessage(row)
    if (item !== undefined) {
      const { workspace, id, sessionId, seq, kind, state, delivery, data, digest, admitter } = item
      const times = [item.timeCreated, item.timeSettled]
      inserts.inbox(workspace, id, row.session, sessionId, seq, kind, state, delivery, data, digest, admitter, ...times)
    }
    if (message !== undefined) {
      const { workspace, id, sessionId, seq, type, data, unfinished, attempt, timeCreated } = message
      inserts.messages(workspace, id, row.session, sessionId, seq, type, data, unfinished, attempt, timeCreated)
    }
    for (const { workspace, message, attempt, ordinal, data } of parts) {
      inserts.parts(workspace, message, attempt, ordinal, data)
    }
  }
  database.exec(`
    DROP TABLE messages;
    ALTER TABLE newMessages RENAME TO messages;
    CREATE UNIQUE INDEX messagesBySeq ON messages (session, seq);
    CREATE INDEX messagesUnfinished ON messages (session) WHERE unfinished = 1`)
}

type Value = string | number | null

function inserter(database: DatabaseSync, table: string, columns: number): (...values: Value[]) => void {
  const statement = database.prepare(`INSERT INTO ${table} VALUES (${Array(columns).fill('?').join(', ')})`)
  return (...values) => void statement.run(...values)
}
