import type { DatabaseSync } from 'node:sqlite'
import { hashesIn } from '#services/session/adapters/common/blob-uses.ts'

/** Blobs are counted by what uses them; what uses them already is found once. */
export function countBlobs(database: DatabaseSync): void {
  database.exec(`
    CREATE TABLE blobUses (
      workspace TEXT NOT NULL, hash TEXT NOT NULL, message TEXT NOT NULL,
      PRIMARY KEY (workspace, hash, message)) STRICT, WITHOUT ROWID;
    CREATE INDEX blobUsesByMessage ON blobUses (workspace, message);
    CREATE TABLE looseBlobs (
      workspace TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (workspace, hash)) STRICT, WITHOUT ROWID`)
  const insert = database.prepare('INSERT OR IGNORE INTO blobUses (workspace, hash, message) VALUES (?, ?, ?)')
  for (const [table, message] of [
    ['inbox', 'id'],
    ['messages', 'id'],
    ['parts', 'message'],
  ]) {
    const sql = `SELECT workspace, ${message} AS message, data FROM ${table} WHERE instr(data, '"blob":{"hash":"') > 0`
    for (const row of database.prepare(sql).iterate()) {
      for (const hash of hashesIn(row.data as string)) {
        insert.run(row.workspace as string, hash, row.message as string)
      }
    }
  }
}
