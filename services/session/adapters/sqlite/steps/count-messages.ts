import type { DatabaseSync } from 'node:sqlite'
import { activityOfStored } from '#services/session/adapters/common/activity-record.ts'
import type { MessageRecord, PartRecord } from '#services/session/adapters/common/message-record.ts'

/** What counts of messages that are there gets rows; what a fork copied does not. */
export function countMessages(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE activity (
      workspace TEXT NOT NULL, timeCreated INTEGER NOT NULL, id TEXT NOT NULL, session INTEGER NOT NULL, type TEXT NOT NULL,
      model TEXT, costNanos TEXT, tokens TEXT, calls TEXT,
      PRIMARY KEY (workspace, timeCreated, id)) STRICT, WITHOUT ROWID;
    CREATE INDEX activityBySession ON activity (session)`)
  const messages = database.prepare(`SELECT messages.* FROM messages JOIN sessions ON number = session
    WHERE type IN ('user', 'assistant') AND messages.timeCreated >= sessions.timeCreated`)
  const parts = database.prepare(
    'SELECT * FROM parts WHERE workspace = ? AND message = ? AND attempt = ? ORDER BY ordinal',
  )
  const insert = database.prepare('INSERT INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  for (const row of messages.iterate() as Iterable<unknown>) {
    const message = row as MessageRecord & { readonly session: number }
    const own = message.type === 'user' ? [] : parts.all(message.workspace, message.id, message.attempt)
    const record = activityOfStored(message, own as unknown as PartRecord[])
    if (record === undefined) continue
    const { workspace, timeCreated, id, type, model, costNanos, tokens, calls } = record
    insert.run(workspace, timeCreated, id, message.session, type, model, costNanos, tokens, calls)
  }
}
