// `node bench/event-share.ts`: how much of `session.sqlite` the events take after typical use: sessions whose steps
// read files, run commands and answer at length. Prints the tables by number of pages.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { InstanceClient } from '#test/support/instance-client.ts'
import { startServer } from './harness/server.ts'

const SESSIONS = 20
const PROMPTS = 5
/** Words in an answer. */
const WORDS = 300
/** Size of a file that a prompt reads. */
const FILE_BYTES = 8_000
const GOAL = 1 / 3

const folder = await mkdtemp(join(tmpdir(), 'portico-share-'))
try {
  const project = join(folder, 'project')
  await mkdir(project)
  await writeFile(join(project, 'source.ts'), `${'const line = of("source")\n'.repeat(FILE_BYTES / 26)}`)
  const data = join(folder, 'data')
  const env = { HOME: folder, PORTICO_PORT: '0', PORTICO_DATA_DIR: data }
  {
    await using server = await startServer({ file: 'main.ts', words: [project], env })
    const client = new InstanceClient(server.url)
    for (let n = 0; n < SESSIONS; n++) await use(client)
  }
  report(join(data, 'session.sqlite'))
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function use(client: InstanceClient): Promise<void> {
  const sessionId = await client.createSession()
  for (let n = 0; n < PROMPTS; n++) {
    const text = [
      'Look at the source, run the tests, and say what you think of it. It has to be quick, and it has to be right.',
      '/tool read {"path":"source.ts"}',
      '/tool bash {"command":"seq 1 400"}',
      `/length ${WORDS}`,
    ]
    await client.prompt(sessionId, { text: text.join('\n') })
    await client.wait(sessionId)
  }
}

function report(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true })
  const sizes = database
    .prepare(
      `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_master USING (name) GROUP BY 1 ORDER BY 2 DESC`,
    )
    .all() as { readonly name: string; readonly bytes: number }[]
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { name, bytes } of sizes) {
    if (bytes / total < 0.005) continue
    print(
      `  ${name.padEnd(12)}${(bytes / 1_024).toFixed(0).padStart(8)} KB${((100 * bytes) / total).toFixed(1).padStart(8)} %`,
    )
  }
  const { events, text } = database
    .prepare('SELECT count(*) AS events, avg(length(data)) AS text FROM events')
    .get() as {
    readonly events: number
    readonly text: number
  }
  const share = (sizes.find(({ name }) => name === 'events')?.bytes ?? 0) / total
  print(
    `${events} events with ${text.toFixed(0)} characters each; they take ${(100 * share).toFixed(1)} %${share <= GOAL ? '   goal: at most a third: met' : '   goal: at most a third: MISSED'}`,
  )
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
