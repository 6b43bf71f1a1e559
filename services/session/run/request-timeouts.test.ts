import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeFiles } from '#test/support/catalog.ts'
import { openRealTools } from '#test/support/real-tools.ts'
import { text } from '#test/support/session-turns.ts'

test('the time limit of a provider is that of the agent’s settings, in whole milliseconds', async () => {
  await using tools = await openRealTools()
  const { catalog, service } = tools
  await tools.create()
  for (const [settings, timeouts] of [
    [
      { timeout: 60_000, headerTimeout: 0.5, chunkTimeout: 1e12 },
      { totalMs: 60_000, headersMs: 1, chunkMs: 2 ** 31 - 1 },
    ],
    [{ timeout: false, headerTimeout: '1', chunkTimeout: -1, transport: 'websocket' }, {}],
  ] as const) {
    const agent = { request: { settings } }
    await writeFiles(catalog.project, { '.opencode/agents/build.md': `---\n${JSON.stringify(agent)}\n---\nBe brief.` })
    service.peers.turns.push(text('Done.'))
    await service.prompt('Go on')
    await service.wait()
    const { $typeName: _, ...asked } = service.peers.requests.at(-1)?.providerTimeouts ?? assert.fail()
    assert.deepEqual(asked, timeouts)
  }
})
