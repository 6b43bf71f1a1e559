import type { DatabaseSync } from 'node:sqlite'

/**
 * A session's place among the titles is a column of it: a new session writes one entry of an index for it, where it
 * wrote a row, an entry of an index and a counter. Who writes sessions sees to it, since a trigger costs as much as a
 * statement.
 */
export function joinTitles(database: DatabaseSync): void {
  database.exec(`
    ALTER TABLE sessions ADD COLUMN titlePlace INTEGER;
    UPDATE sessions SET titlePlace = (SELECT place FROM titlePlaces WHERE session = number);
    CREATE UNIQUE INDEX sessionsByTitlePlace ON sessions (titlePlace) WHERE titlePlace IS NOT NULL;
    DROP TRIGGER titleCreated;
    DROP TRIGGER titleChanged;
    DROP TRIGGER titleRemoved;
    DROP TABLE titlePlaces`)
}
