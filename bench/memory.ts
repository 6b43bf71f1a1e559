// Whether the memory of tools is returned. Starts the single process, records its memory while idle, lets sessions run
// commands that print much and searches, and records what is left afterwards. Usage: memory.ts
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { InstanceClient } from '#test/support/instance-client.ts'
import { startServer } from './harness/server.ts'

const COMMANDS = 80
const COMMAND = 'yes "a line of output that is neither long nor short" | head -c 3000000'
const SEARCHES = 160
const FILES = 400
const FILE_BYTES = 40_000
/** Number of sessions that run at once. */
const AT_ONCE = 4
/** How long after a start, and after the last run, the memory is measured. */
const REST_MS = 20_000

const folder = await mkdtemp(join(tmpdir(), 'portico-memory-'))
try {
  const project = join(folder, 'project')
  await mkdir(project)
  const line = `${'word '.repeat(15)}\n`
  for (let i = 0; i < FILES; i++) await writeFile(join(project, `${i}.txt`), line.repeat(FILE_BYTES / line.length))
  const env = { HOME: folder, PORTICO_PORT: '0', PORTICO_DATA_DIR: join(folder, 'data') }
  await using server = await startServer({ file: 'main.ts', words: [project], env })
  const client = new InstanceClient(server.url)
  const pid = server.process.pid ?? 0
  await delay(REST_MS)
  const idle = megabytes(pid)
  process.stdout.write(`idle ${idle} MB\n`)
  await runs(client, COMMANDS, `/tool bash ${JSON.stringify({ command: COMMAND })}`)
  process.stdout.write(`after ${COMMANDS} commands ${megabytes(pid)} MB\n`)
  await runs(client, SEARCHES, `/tool grep ${JSON.stringify({ pattern: 'nowhere|never$' })}`)
  process.stdout.write(`after ${SEARCHES} searches ${megabytes(pid)} MB\n`)
  await delay(REST_MS)
  const after = megabytes(pid)
  process.stdout.write(`after a rest ${after} MB, ${after - idle} MB above idle\n`)
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Prompts several sessions at once, until there were this many runs. */
async function runs(client: InstanceClient, count: number, text: string): Promise<void> {
  const one = async (): Promise<void> => {
    const sessionId = await client.createSession()
    for (let run = 0; run < count / AT_ONCE; run++) {
      await client.prompt(sessionId, { text })
      await client.wait(sessionId)
    }
    const calls = (await client.messages(sessionId)).flatMap(({ content = [] }) => content)
    if (calls.some(({ type, state }) => type === 'tool' && state?.status !== 'completed'))
      throw new Error('A tool failed')
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/** Resident memory of a process. */
function megabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}
