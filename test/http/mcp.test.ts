import assert from 'node:assert/strict'
import test from 'node:test'
import { scriptedServer } from '#test/support/mcp.ts'
import { openPortico } from '#test/support/portico.ts'
import { waitFor } from '#test/support/wait-until.ts'

test('mcp.list answers the location and its servers, with their errors', async () => {
  const { entry } = scriptedServer('/tmp/no-such-folder', 'hostile')
  const mcp = { off: { ...entry, enabled: false }, wrong: { type: 'x' }, s: entry }
  await using portico = await openPortico(
    { PORTICO_TRUSTED_DIRECTORIES: '["/"]' },
    { 'opencode.json': JSON.stringify({ mcp }) },
  )
  const list = () => portico.fetch('/api/mcp')
  // A list waits for a server, but not for ever.
  await waitFor('the server to start', async () => !(await (await list()).text()).includes('"starting"'))
  const answer = await list()
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), {
    location: { directory: portico.project },
    data: [
      { name: 'off', status: 'disabled', tools: 0 },
      {
        ...{ name: 'wrong', status: 'failed', tools: 0 },
        error: `${portico.project}/opencode.json: \`type\` must be "local" or "remote"`,
      },
      { name: 's', status: 'connected', tools: 1, omitted: { count: 4, names: ['deep', '?', '?', 'none'] } },
    ],
  })
})
