import type { DatabaseSync } from 'node:sqlite'

/**
 * Indexes for each filter of a list, and one of titles. A session moves in the former with each prompt, and therefore
 * lies in as few of them as possible (`session-plan.ts`); the latter keeps no copy of the titles (`title-index.ts`).
 * What removes a session's row removes it from all.
 */
export function indexLists(database: DatabaseSync): void {
  database.exec(`
    CREATE INDEX sessionsRoots ON sessions (workspace, timeUpdated, id) WHERE parentId IS NULL;
    CREATE INDEX sessionsChildren ON sessions (workspace, timeUpdated, id) WHERE parentId IS NOT NULL;
    CREATE INDEX sessionsByParent ON sessions (workspace, parentId, timeUpdated, id) WHERE parentId IS NOT NULL;
    CREATE INDEX sessionsAtProjectRoot ON sessions (workspace, projectId, timeUpdated, id) WHERE subpath = '';
    CREATE INDEX sessionsBelowProjectRoot ON sessions (workspace, projectId, timeUpdated, id) WHERE subpath <> '';
    CREATE INDEX sessionsBySubpath ON sessions (workspace, projectId, subpath, timeUpdated, id) WHERE subpath <> '';
    DROP INDEX sessionsByTime;

    CREATE VIRTUAL TABLE titles USING fts5 (title, workspace, parent, directory, project, subpath,
      content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1');
    CREATE TABLE titleQueue (session INTEGER PRIMARY KEY) STRICT;
    INSERT INTO titleQueue SELECT number FROM sessions WHERE titleSearch IS NOT NULL;
    CREATE TRIGGER titleCreated AFTER INSERT ON sessions WHEN new.titleSearch IS NOT NULL
      BEGIN INSERT OR IGNORE INTO titleQueue VALUES (new.number); END;
    CREATE TRIGGER titleChanged AFTER UPDATE OF titleSearch, directory, projectId, subpath ON sessions
      BEGIN INSERT OR IGNORE INTO titleQueue VALUES (new.number); END;
    CREATE TRIGGER titleRemoved AFTER DELETE ON sessions
      BEGIN DELETE FROM titles WHERE rowid = old.number; DELETE FROM titleQueue WHERE session = old.number; END`)
}
