import type { DatabaseSync } from 'node:sqlite'

/**
 * The index of titles lies in blocks of places (`titles/title-index.ts`). What changes gives a session a new place,
 * without the times, which most updates change: a trigger of its own would cost each of them 3 µs. `AUTOINCREMENT`: no
 * place is given twice.
 */
export function placeTitles(database: DatabaseSync): void {
  database.exec(`
    DROP TRIGGER titleCreated;
    DROP TRIGGER titleChanged;
    DROP TRIGGER titleRemoved;
    DROP TABLE titleQueue;
    DROP TABLE titles;
    CREATE TABLE titlePlaces (place INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL UNIQUE) STRICT;
    CREATE TABLE titleBlocks (block INTEGER PRIMARY KEY, oldest INTEGER NOT NULL, newest INTEGER NOT NULL) STRICT;
    CREATE TABLE titleTerms (
      block INTEGER NOT NULL, term INTEGER NOT NULL, places BLOB NOT NULL, PRIMARY KEY (block, term)) STRICT, WITHOUT ROWID;
    INSERT INTO titlePlaces (session) SELECT number FROM sessions WHERE titleSearch IS NOT NULL ORDER BY timeUpdated;
    CREATE TRIGGER titleCreated AFTER INSERT ON sessions WHEN new.titleSearch IS NOT NULL
      BEGIN INSERT INTO titlePlaces (session) VALUES (new.number); END;
    CREATE TRIGGER titleChanged AFTER UPDATE OF titleSearch, directory, projectId, subpath ON sessions
      WHEN new.titleSearch IS NOT old.titleSearch OR new.titleSearch IS NOT NULL AND (
        new.directory <> old.directory OR new.projectId <> old.projectId OR new.subpath <> old.subpath)
      BEGIN
        DELETE FROM titlePlaces WHERE session = new.number;
        INSERT INTO titlePlaces (session) SELECT new.number WHERE new.titleSearch IS NOT NULL;
      END;
    CREATE TRIGGER titleRemoved AFTER DELETE ON sessions
      BEGIN DELETE FROM titlePlaces WHERE session = old.number; END`)
}
