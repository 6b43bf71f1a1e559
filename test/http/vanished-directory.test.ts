import assert from 'node:assert/strict'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPortico } from '#test/support/portico.ts'
import { waitUntil } from '#test/support/wait-until.ts'

interface Message {
  readonly type: string
  readonly outcome?: string
  readonly error?: { readonly type: string; readonly message: string }
  readonly content?: readonly { readonly state?: { readonly error?: { readonly message: string } } }[]
}

test('requests for a session whose directory has vanished name that directory in their error', async () => {
  await using portico = await openPortico()
  const gone = join(portico.project, 'gone')
  await mkdir(gone)
  await portico.post('/api/session', { id: 'ses_a', location: { directory: gone } })
  await rm(gone, { recursive: true })
  const path = '/api/session/ses_a'
  const run = async (text: string): Promise<Message[]> => {
    await portico.post(`${path}/prompt`, { text })
    await portico.fetch(`${path}/wait`, { method: 'POST' })
    const { data } = (await (await portico.fetch(`${path}/message?limit=4`)).json()) as { data: Message[] }
    return data
  }
  const vanished = `does not exist any more: ${gone}`
  const refused = async (body: object, field: string) => {
    const answer = await portico.post(`${path}/prompt`, { text: 'Hi', ...body })
    const { _tag, field: named, message } = (await answer.json()) as Record<string, string>
    assert.deepEqual([answer.status, _tag, named], [400, 'InvalidRequestError', field])
    assert.ok(message?.includes(vanished), message)
  }
  const files = [{ uri: pathToFileURL(join(gone, 'a.txt')).href }]
  // The catalog looks at a directory once a second at most, so it may or may not know it still.
  await refused({ files }, 'files')
  for (const tool of ['write {"path":"a.txt","content":""}', 'bash {"command":"pwd"}', 'list {}']) {
    const messages = await run(`/tool ${tool}`)
    const texts = messages.flatMap(({ content = [], error }) => [
      error?.message,
      ...content.map(({ state }) => state?.error?.message),
    ])
    assert.ok(
      texts.some((text) => text?.includes(vanished)),
      JSON.stringify(texts),
    )
  }
  const error = await waitUntil('a run that does not begin', async () => (await run('Hi'))[0]?.error)
  assert.deepEqual(error, {
    type: 'location.not_found',
    message: `The directory of the session does not exist any more: ${gone}; move the session to another one`,
  })
  await refused({ files }, 'files')
  await refused({ agents: [{ name: 'plan' }] }, 'agents.0.name')
})

test('no session is created in a directory that vanished a while ago', async () => {
  await using portico = await openPortico()
  const gone = join(portico.project, 'gone')
  const create = () => portico.post('/api/session', { location: { directory: gone } })
  await mkdir(gone)
  assert.equal((await create()).status, 200)
  await rm(gone, { recursive: true })
  // The catalog looks at a directory once a second at most.
  const answer = await waitUntil('the catalog to notice', async () => {
    const answer = await create()
    return answer.status === 404 ? answer : undefined
  })
  assert.deepEqual(await answer.json(), {
    ...{ _tag: 'LocationNotFoundError', message: `Directory not found: ${gone}`, location: { directory: gone } },
  })
})
