import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'

const LAST = Buffer.alloc(1_000, 'last')

const READERS = [
  '/api/session/ses_1/message',
  '/api/session/ses_1/message/msg_2',
  '/api/session/ses_1/context',
  '/api/experimental/session/ses_1/export',
]

// A file that is lost is noticed however much comes before it; a damaged one only when it is read.
for (const [how, before, lose] of [
  ['lost', 200_000, (path: string) => rm(path)],
  ['damaged', 1_000, (path: string) => writeFile(path, Buffer.alloc(LAST.length))],
] as const) {
  test(`a message whose file was ${how} is an UnknownError; the log names it; the same file sent again repairs it`, async () => {
    const data = await mkdtemp(join(tmpdir(), 'portico-'))
    try {
      await using portico = await openPortico({ PORTICO_DATA_DIR: data })
      await portico.post('/api/session', { id: 'ses_1', title: 'Title' })
      const prompt = async (id: string, content: Buffer): Promise<void> => {
        const files = [{ uri: `data:text/plain;base64,${content.toString('base64')}`, name: `${id}.txt` }]
        const answer = await portico.post('/api/session/ses_1/prompt', { id, text: 'Hi', files })
        assert.equal(answer.status, 200, await answer.text())
        assert.equal((await portico.post('/api/experimental/session/ses_1/wait', {})).status, 204)
      }
      await prompt('msg_1', Buffer.alloc(before, 'first'))
      await prompt('msg_2', LAST)
      const hash = createHash('sha256').update(LAST).digest('hex')
      const folders = await readdir(join(data, 'blobs'))
      const workspace = folders.find((name) => name.startsWith('wrk_')) ?? ''
      await lose(join(data, 'blobs', workspace, hash))
      for (const path of READERS) {
        const answer = await portico.fetch(path)
        assert.equal(answer.status, 500, path)
        const { ref, ...body } = (await answer.json()) as { ref: string }
        assert.deepEqual(body, { _tag: 'UnknownError', message: 'Internal server error' })
        const line = portico.log.find((line) => line.ref === ref && line.err !== undefined)
        assert.equal(
          (line?.err as Error | undefined)?.message,
          `[internal] Internal error: Blob ${workspace}/${hash} of session ses_1 is missing or damaged`,
        )
      }
      assert.equal((await portico.fetch('/api/session/ses_1/message/msg_1')).status, 200)
      assert.equal((await portico.fetch('/api/experimental/session/ses_1/export?sanitize=true')).status, 200)
      await prompt('msg_3', LAST)
      for (const path of READERS) {
        const answer = await portico.fetch(path)
        assert.equal(answer.status, 200, path)
        assert.ok((await answer.text()).includes(LAST.toString('base64')))
      }
    } finally {
      await rm(data, { recursive: true, force: true })
    }
  })
}
