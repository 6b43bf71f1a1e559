import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toOutcome } from '#services/catalog/adapters/mcp/tool-result.ts'
import { asOperator, catalogTest, runTool, writeFiles } from '#test/support/catalog.ts'
import { states } from '#test/support/plugins.ts'
import { textContent } from '../domain/tool-outcome.ts'

// Protobuf allows 100 of its own levels: what is nested more deeply cannot be sent to another process.

const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })

catalogTest('an agent whose request is nested too deeply is left out, and the others are listed', async (catalog) => {
  const agents = { deep: { request: { body: deep(60) } }, flat: { request: { body: deep(20) } } }
  await writeFiles(catalog.project, { 'opencode.json': JSON.stringify({ agents }) })
  const listed = (await catalog.client.listAgents({}, asOperator)).agents.map(({ agentId }) => agentId)
  assert.deepEqual(
    listed.filter((id) => /deep|flat/.test(id)),
    ['flat'],
  )
})

const PLUGIN = `
const deep = (levels) => (levels === 0 ? {} : { a: deep(levels - 1) })
export default { id: 'deep', setup({ tool, hook }) {
  tool({
    name: 'nest',
    description: 'Nests.',
    inputSchema: { type: 'object' },
    execute: ({ levels }) => ({ content: [{ type: 'text', text: 'done' }], metadata: deep(levels) }),
  })
  hook('tool.before', ({ input }) => (input.path === 'deep' ? { input: deep(60) } : undefined))
} }`

catalogTest(
  'a value that a plugin nests too deeply is left out of the result of its tool, and fails its hook',
  async (catalog) => {
    await writeFiles(catalog.config, { 'plugins/deep.js': PLUGIN })
    await catalog.client.listPlugins({}, asOperator)
    const results = [await runTool(catalog, 'nest', { levels: 20 }), await runTool(catalog, 'nest', { levels: 60 })]
    assert.deepEqual(
      results.map(({ text, metadata }) => [text, metadata]),
      [
        ['done', deep(20)],
        ['done', {}],
      ],
    )
    const { input } = await catalog.client.prepareTool({ name: 'read', input: { path: 'deep' } }, asOperator)
    assert.equal(input, undefined)
    assert.match(
      states(await catalog.client.listPlugins({}, asOperator))['deep.js'] ?? '',
      /hook tool.before returned cannot be used: input is not an object of at most 24 levels/,
    )
  },
)

test('a structured result of an MCP server that is nested too deeply is only shown as text', () => {
  for (const [levels, shown] of [
    [20, true],
    [60, false],
  ] as const) {
    const { metadata = {}, content } = toOutcome({ structuredContent: deep(levels) })?.value ?? assert.fail()
    assert.equal('structuredContent' in metadata, shown)
    assert.deepEqual(content, [textContent(JSON.stringify(deep(levels)))])
  }
})
