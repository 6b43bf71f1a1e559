// What the session paths are measured against: bare Express over node:sqlite that does the same durable work and nothing
// else. No authentication, no schemas, no limits, no logs.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import express from 'express'

const database = new DatabaseSync(join(process.env.BENCH_DIRECTORY ?? '.', 'reference.sqlite'))
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE sessions (id TEXT PRIMARY KEY, title TEXT, directory TEXT NOT NULL, project TEXT NOT NULL,
    cost INTEGER NOT NULL, tokens TEXT NOT NULL, seq INTEGER NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL);
  CREATE INDEX sessions_by_time ON sessions (updated, id);
  CREATE TABLE events (position INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, seq INTEGER NOT NULL,
    created INTEGER NOT NULL, data TEXT NOT NULL);
  CREATE TABLE inbox (id TEXT PRIMARY KEY, session TEXT NOT NULL, seq INTEGER NOT NULL, delivery TEXT NOT NULL,
    created INTEGER NOT NULL, data TEXT NOT NULL);
`)
const insertSession = database.prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, 0, ?, 1, ?, ?)')
const insertEvent = database.prepare('INSERT INTO events (session, seq, created, data) VALUES (?, ?, ?, ?)')
const insertInput = database.prepare('INSERT INTO inbox VALUES (?, ?, ?, ?, ?, ?)')
const raise = database.prepare('UPDATE sessions SET seq = seq + 1, updated = ? WHERE id = ? RETURNING seq')
const byId = database.prepare('SELECT * FROM sessions WHERE id = ?')
const page = database.prepare('SELECT * FROM sessions ORDER BY updated DESC, id DESC LIMIT ?')
const begin = database.prepare('BEGIN IMMEDIATE')
const commit = database.prepare('COMMIT')

/** Group commit: all writes of one turn of the event loop share a transaction, and are answered after it. */
let waiting: { run(): void; done(): void }[] = []
function write<T>(run: () => T): Promise<T> {
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

const newId = (prefix: string): string => `${prefix}_${randomBytes(16).toString('hex')}`
const NO_TOKENS = JSON.stringify({ input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } })

interface Row {
  readonly id: string
  readonly title: string | null
  readonly directory: string
  readonly project: string
  readonly cost: number
  readonly tokens: string
  readonly created: number
  readonly updated: number
}

function info(row: Row) {
  return {
    ...{ id: row.id, projectID: row.project, cost: row.cost, tokens: JSON.parse(row.tokens) as unknown },
    ...{ time: { created: row.created, updated: row.updated }, title: row.title ?? undefined },
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
  const row: Row = {
    ...{ id: newId('ses'), title: title ?? null, directory: location.directory, project: 'global' },
    ...{ cost: 0, tokens: NO_TOKENS, created: now, updated: now },
  }
  await write(() => {
    insertSession.run(row.id, row.title, row.directory, row.project, row.tokens, now, now)
    insertEvent.run(row.id, 1, now, JSON.stringify({ type: 'session.created', session: row }))
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
    const { seq } = raise.get(now, sessionID) as { seq: number }
    insertEvent.run(sessionID, seq, now, JSON.stringify({ type: 'session.inbox.enqueued', item }))
    insertInput.run(item.id, sessionID, seq, item.delivery, now, JSON.stringify(item.payload))
  })
  response.json({ data: item })
})

const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') process.stdout.write(`http://127.0.0.1:${address.port}\n`)
})
process.on('SIGTERM', () => process.exit(0))
