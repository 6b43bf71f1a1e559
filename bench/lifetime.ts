// How forking and removing a long session, and removing one with many children, affects others: how late other requests
// are answered meanwhile, and how long the event loop is blocked. One process, SQLite. Usage: lifetime.ts [--messages
// N] [--children N]

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { create } from '@bufbuild/protobuf'
import { ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { messageOf } from '#services/session/domain/message.ts'
import { newSession } from '#services/session/domain/new-session.ts'
import { systemClock } from '#shared/clock.ts'
import { stepPart } from '#test/support/step-part.ts'
import { startServer } from './harness/server.ts'

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '10000' }, children: { type: 'string', default: '50000' } },
})
const count = Number(values.messages)
const children = Number(values.children)
/** Children that are created at once. */
const TOGETHER = 1_000
const EVERY_MS = 5
/** Maximum time for the background deletion. */
const REST_MS = 15_000

const folder = await mkdtemp(join(tmpdir(), 'portico-lifetime-'))
const [data, project] = [join(folder, 'data'), join(folder, 'project')]
const env = { HOME: folder, PORTICO_PORT: '0', PORTICO_DATA_DIR: data }
const start = () => startServer({ file: 'main.ts', words: [project], env })
try {
  await mkdir(project)
  let workspace = ''
  {
    await using server = await start()
    await fetch(`${server.url}/api/session`, json({ id: 'ses_other' }))
  }
  {
    await using store = await openSqliteSessionStore({ path: join(data, 'session.sqlite'), clock: systemClock })
    workspace = await workspaceOf()
    const staged = await store.stageSession(workspace, 'ses_long', 'import')
    for (let n = 0; n < count; n += 100) {
      await store.appendStaged(
        staged,
        Array.from({ length: Math.min(100, count - n) }, (_, i) => message(n + i)),
      )
    }
    const named = (sessionId: string, title: string, parentId?: string) =>
      create(SessionSchema, { sessionId, title, parentId, directory: project, projectId: 'global' })
    await store.commitStaged(staged, (...made) => newSession(named('ses_long', 'Long'), ...made))
    const add = (sessionId: string, parentId?: string) =>
      store.createSession({ workspace, sessionId }, (...made) =>
        newSession(named(sessionId, `Session ${sessionId}`, parentId), ...made),
      )
    await add('ses_parent')
    for (let n = 0; n < children; n += TOGETHER) {
      await Promise.all(Array.from({ length: TOGETHER }, (_, i) => add(`ses_child${n + i}`, 'ses_parent')))
    }
  }
  await using server = await start()
  const send = (path: string, init: RequestInit) => fetch(`${server.url}/api/session/${path}`, init)
  await measure('nothing else', async () => pause(3_000))
  await measure(`a fork of ${count} messages`, async () => {
    const answer = await send('ses_long/fork', json({}))
    if (answer.status !== 200) throw new Error(await answer.text())
  })
  await measure(`the removal of ${count} messages`, async () => {
    const answer = await send('ses_long', { method: 'DELETE' })
    if (answer.status !== 204) throw new Error(await answer.text())
    await pause(REST_MS)
  })
  await measure(`the removal of a parent of ${children}`, async () => {
    const since = performance.now()
    const answer = await send('ses_parent', { method: 'DELETE' })
    if (answer.status !== 204) throw new Error(await answer.text())
    process.stdout.write(`(answered after ${(performance.now() - since).toFixed(0)} ms)\n`)
    await pause(REST_MS)
  })

  async function measure(name: string, work: () => Promise<void>): Promise<void> {
    const late: number[] = []
    let working = true
    const asking = (async () => {
      while (working) {
        const since = performance.now()
        await (await send('ses_other', {})).arrayBuffer()
        late.push(performance.now() - since)
        await pause(EVERY_MS)
      }
    })()
    const since = performance.now()
    const held = await server.heldDuring(work)
    const took = performance.now() - since
    working = false
    await asking
    late.sort((a, b) => a - b)
    const at = (share: number): string => (late[Math.floor((late.length - 1) * share)] ?? 0).toFixed(1)
    process.stdout.write(
      `${name}: ${took.toFixed(0)} ms; another request took ${at(0.5)} ms (median), ${at(0.99)} (99%), ${at(1)} (longest of ` +
        `${late.length}); the event loop was held for ${held.toFixed(1)} ms of CPU at most\n`,
    )
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function workspaceOf(): Promise<string> {
  const { DatabaseSync } = await import('node:sqlite')
  using database = new DatabaseSync(join(data, 'identity.sqlite'), { readOnly: true })
  return database.prepare('SELECT workspaceId FROM workspaces LIMIT 1').get()?.workspaceId as string
}

function message(n: number): Message {
  const [head, text] = [{ messageId: `msg_long${n}`, createTime: n }, `${n} `.repeat(100)]
  if (n % 2 === 0) return messageOf(head, 'user', { text })
  return messageOf(head, 'assistant', {
    agent: 'build',
    attempt: 1,
    finish: 'stop',
    model: create(ModelRefSchema, { providerId: 'portico', modelId: 'echo' }),
    parts: [stepPart('text', { text }), stepPart('text', { text })],
    costNanos: 1n,
    streamTime: n,
    completeTime: n,
  })
}

function json(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
