import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PromptSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { messageOf } from '#services/session/domain/message.ts'
import { newSession } from '#services/session/domain/new-session.ts'
import { systemClock } from '#shared/clock.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { readTables } from '#test/support/read-stores.ts'
import { waitFor } from '#test/support/wait-until.ts'

const MESSAGES = 3_000

/** Creates a long session while no server runs. */
async function fill(data: string, directory: string): Promise<void> {
  using identity = new DatabaseSync(join(data, 'identity.sqlite'), { readOnly: true })
  const workspace = identity.prepare('SELECT workspaceId FROM workspaces').get()?.workspaceId as string
  await using store = await openSqliteSessionStore({ path: join(data, 'session.sqlite'), clock: systemClock })
  const staged = await store.stageSession(workspace, 'ses_long', 'import')
  const prompt = create(PromptSchema, { text: 'long ago' })
  for (let n = 0; n < MESSAGES; n += 100) {
    const some = Array.from({ length: 100 }, (_, i) => n + i)
    await store.appendStaged(
      staged,
      some.map((i) => messageOf({ messageId: `msg_long${i}`, createTime: 1 }, 'user', prompt)),
    )
  }
  const session = create(SessionSchema, { sessionId: 'ses_long', directory, projectId: 'global' })
  await store.commitStaged(staged, (...made) => newSession(session, ...made))
}

test('a kill in the middle of a fork, or of a removal, leaves all of a session or nothing', async () => {
  using folder = scratchDirectory()
  const setting = { dataDirectory: join(folder.path, 'data'), project: folder.path }
  const data = setting.dataDirectory
  let product = await startSingle(setting)
  const client = () => new InstanceClient(product.url)
  const ids = async () =>
    ((await client().get('/api/session')) as { data: { readonly id: string }[] }).data.map(({ id }) => id)
  try {
    const file = `data:text/plain;base64,${Buffer.from('an attachment').toString('base64')}`
    await client().createSession({ id: 'ses_file' })
    await client().prompt('ses_file', { text: 'Look', files: [{ uri: file }], resume: false })
    await product.stop()
    await fill(data, folder.path)

    product = await startSingle(setting)
    const forked = client()
      .post('/api/session/ses_long/fork', {})
      .catch(() => 'cut off')
    await new Promise((resolve) => setTimeout(resolve, 150))
    await product.kill()
    const whole = (await forked) !== 'cut off'
    product = await startSingle(setting)
    assert.equal((await ids()).length, whole ? 3 : 2)

    for (const id of await ids()) {
      const { status } = await fetch(`${product.url}/api/session/${id}`, { method: 'DELETE' })
      assert.equal(status, 204)
    }
    await product.kill()
    product = await startSingle(setting)
    assert.deepEqual(await ids(), [])
    const blobs = join(data, 'blobs')
    const files = () => readdirSync(blobs, { recursive: true }).filter((name) => /[0-9a-f]{64}$/.test(String(name)))
    await waitFor('the blob to go', () => files().length === 0)
    await product.kill()
    const rows = () =>
      Object.entries(readTables(join(data, 'session.sqlite'))).flatMap(([table, rows]) =>
        rows.flatMap((row) => (/ses_|msg_/.test(JSON.stringify(row)) ? [table] : [])),
      )
    for (let tries = 0; rows().some((table) => table !== 'events') && tries < 200; tries++) {
      product = await startSingle(setting)
      await new Promise((resolve) => setTimeout(resolve, 500))
      await product.kill()
    }
    assert.deepEqual([...new Set(rows())], ['events'])
    using database = new DatabaseSync(join(data, 'session.sqlite'), { readOnly: true })
    const types = database.prepare('SELECT DISTINCT data FROM events').all()
    assert.deepEqual(
      types.map(({ data }) => data),
      ['{"sessionDeleted":{}}'],
    )
  } finally {
    await product.kill()
  }
})
