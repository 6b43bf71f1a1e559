// The reference for sessions: bare Express over node:sqlite that does the same durable work and nothing else. No
// authentication, no schemas, no limits, no logs. With BENCH_STORES=nothing, writes are answered, but not carried out.
import { hash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import express from 'express'

const database = new DatabaseSync(join(process.env.BENCH_DIRECTORY ?? '.', 'reference.sqlite'))
// An index for each filter of a list, one for searches in titles, and one for reading a session's events. Statistics
// count deliveries, for which nothing is written here.
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE sessions (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, parent TEXT, title TEXT, directory TEXT NOT NULL,
    project TEXT NOT NULL, subpath TEXT NOT NULL, cost INTEGER NOT NULL, tokens TEXT NOT NULL, seq INTEGER NOT NULL,
    created INTEGER NOT NULL, updated INTEGER NOT NULL);
  CREATE INDEX sessions_by_time ON sessions (updated, id);
  CREATE INDEX sessions_by_parent ON sessions (parent, updated, id) WHERE parent IS NOT NULL;
  CREATE INDEX sessions_by_directory ON sessions (directory, updated, id);
  CREATE INDEX sessions_by_project ON sessions (project, updated, id);
  CREATE INDEX sessions_by_subpath ON sessions (project, subpath, updated, id) WHERE subpath <> '';
  CREATE VIRTUAL TABLE titles USING fts5 (title, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
  CREATE TABLE events (position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, session INTEGER NOT NULL, seq INTEGER NOT NULL,
    directory TEXT NOT NULL, created INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE INDEX events_by_session ON events (session, seq);
  CREATE TABLE inbox (id TEXT PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, state TEXT NOT NULL, delivery TEXT NOT NULL,
    digest TEXT NOT NULL, created INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE INDEX inbox_waiting ON inbox (session, delivery, seq) WHERE state = 'waiting';
`)
const insertSession =
  database.prepare(`INSERT INTO sessions (id, title, directory, project, subpath, cost, tokens, seq, created, updated)
  VALUES (?, ?, ?, ?, '', 0, ?, 1, ?, ?)`)
const insertTitle = database.prepare('INSERT INTO titles (rowid, title) VALUES (?, ?)')
const insertEvent = database.prepare(
  'INSERT INTO events (id, session, seq, directory, created, data) VALUES (?, ?, ?, ?, ?, ?)',
)
const insertInput = database.prepare(`INSERT INTO inbox VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?)`)
const raise = database.prepare('UPDATE sessions SET seq = ?, updated = ? WHERE number = ?')
const byId = database.prepare('SELECT * FROM sessions WHERE id = ?')
const inputById = database.prepare('SELECT 1 FROM inbox WHERE id = ?')
const page = database.prepare('SELECT * FROM sessions ORDER BY updated DESC, id DESC LIMIT ?')
const begin = database.prepare('BEGIN IMMEDIATE')
const commit = database.prepare('COMMIT')

/** Group commit: all writes of one turn of the event loop share a transaction, and are answered after it. */
let waiting: { run(): void; done(): void }[] = []
function write<T>(run: () => T): Promise<T | undefined> {
  if (process.env.BENCH_STORES === 'nothing') return Promise.resolve(undefined)
  return new Promise((resolve) => {
    let result: T
    if (waiting.length === 0) setImmediate(flush)
    waiting.push({
      run: () => {
        result = run()
      },
      done: () => resolve(result),
    })
  })
}
function flush(): void {
  const jobs = waiting
  waiting = []
  begin.run()
  for (const job of jobs) job.run()
  commit.run()
  for (const job of jobs) job.done()
}

/** Begins with the time, so that the rows of one commit are on few pages. */
const newId = (prefix: string): string => `${prefix}_${Date.now().toString(16)}${randomUUID().slice(-22)}`
const NO_TOKENS = JSON.stringify({ input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } })

interface NewRow {
  readonly id: string
  readonly title: string | null
  readonly directory: string
  readonly project: string
  readonly cost: number
  readonly tokens: string
  readonly created: number
  readonly updated: number
}

interface Row extends NewRow {
  readonly number: number
  readonly seq: number
}

function info(row: NewRow) {
  return {
    id: row.id,
    projectID: row.project,
    cost: row.cost,
    tokens: JSON.parse(row.tokens) as unknown,

    time: { created: row.created, updated: row.updated },
    title: row.title ?? undefined,
    location: { directory: row.directory },
  }
}

const app = express()
app.set('etag', false)
app.set('x-powered-by', false)
app.use(express.json())

app.post('/api/session', async (request, response) => {
  const { title, location } = request.body as { title?: string; location: { directory: string } }
  const now = Date.now()
  const row: NewRow = {
    id: newId('ses'),
    title: title ?? null,
    directory: location.directory,
    project: 'global',

    cost: 0,
    tokens: NO_TOKENS,
    created: now,
    updated: now,
  }
  await write(() => {
    if (byId.get(row.id) !== undefined) return
    const { lastInsertRowid: number } = insertSession.run(
      ...[row.id, row.title, row.directory, row.project, row.tokens, now, now],
    )
    insertTitle.run(number, row.title)
    const data = JSON.stringify({ type: 'session.created', session: row })
    insertEvent.run(newId('evt'), number, 1, row.directory, now, data)
  })
  response.json({ data: info(row) })
})

app.get('/api/session/:id', (request, response) => {
  const row = byId.get(request.params.id) as Row | undefined
  if (row === undefined) response.status(404).json({ _tag: 'SessionNotFoundError' })
  else response.json({ data: info(row) })
})

app.get('/api/session', (request, response) => {
  const rows = page.all(Number(request.query.limit)) as unknown as Row[]
  const last = rows.at(-1)
  const next = Buffer.from(JSON.stringify([last?.updated, last?.id])).toString('base64url')
  response.json({ data: rows.map(info), cursor: { next } })
})

app.post('/api/session/:id/prompt', async (request, response) => {
  const sessionID = request.params.id
  const { text } = request.body as { text: string }
  const now = Date.now()
  const item = {
    id: newId('msg'),
    sessionID,
    time: { created: now },
    type: 'user',
    payload: { text },
    delivery: 'steer',
  }
  await write(() => {
    if (inputById.get(item.id) !== undefined) return
    const { number, seq, directory } = byId.get(sessionID) as unknown as Row
    const data = JSON.stringify(item.payload)
    const digest = hash('sha256', data, 'base64url')
    raise.run(seq + 2, now, number)
    insertInput.run(item.id, number, seq + 1, item.delivery, digest, now, data)
    const event = JSON.stringify({ type: 'session.inbox.enqueued', item })
    insertEvent.run(newId('evt'), number, seq + 2, directory, now, event)
  })
  response.json({ data: item })
})

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
