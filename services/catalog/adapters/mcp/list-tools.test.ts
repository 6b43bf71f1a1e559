import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client, StandardSchemaV1 } from '@modelcontextprotocol/client'
import { listTools, type ServerTools } from './list-tools.ts'

const inputSchema = { type: 'object', properties: {} }
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema, ...more })

/**
 * Lists the tools of a server that returns these results, by the cursor in each request, and returns these cursors,
 * too.
 */
async function listed(answer: (cursor: string | undefined) => unknown, capabilities: object = { tools: {} }) {
  const cursors: (string | undefined)[] = []
  const request = async ({ params }: { params: { cursor?: string } }, schema: StandardSchemaV1<unknown, unknown>) => {
    cursors.push(params.cursor)
    const result = await schema['~standard'].validate(answer(params.cursor))
    return 'value' in result ? result.value : assert.fail()
  }
  const client = { request, getServerCapabilities: () => capabilities } as unknown as Client
  return { cursors, found: await listTools(client, new AbortController().signal, 1_000) }
}

const names = ({ tools }: ServerTools) => tools.map(({ name }) => name)

test('pages are requested one after the other until there is no next one, it repeats, or its cursor is invalid', async () => {
  for (const [last, asked] of [
    [undefined, [undefined, '1']],
    ['', [undefined, '1']],
    ['1', [undefined, '1']],
    [7, [undefined, '1']],
    ['x'.repeat(4_097), [undefined, '1']],
  ] as const) {
    const { cursors, found } = await listed((cursor) =>
      cursor === undefined
        ? { tools: [tool('a')], nextCursor: '1' }
        : { tools: [tool('b'), tool('a', { description: 'again' })], nextCursor: last },
    )
    assert.deepEqual([cursors, names(found), found.omitted], [asked, ['a', 'b'], ['a']])
  }
})

test('an endless list ends after a hundred pages, even if they are empty', async () => {
  const { cursors } = await listed((cursor) => ({ tools: [], nextCursor: `${Number(cursor ?? 0) + 1}` }))
  assert.equal(cursors.length, 100)
})

test('a server without tools gets no request, and an answer that is not a list is an error', async () => {
  assert.deepEqual(await listed(() => assert.fail(), {}), { cursors: [], found: { tools: [], omitted: [] } })
  for (const result of [undefined, null, [], { tools: {} }, { tools: null }]) {
    await assert.rejects(
      listed(() => result),
      /its list of tools is invalid/,
    )
  }
})

test('invalid tools are left out, and what is shown of the others is short and well-formed', async () => {
  const { found } = await listed(() => ({
    tools: [
      ...[null, 'x', tool(1), tool(''), tool('a\u0000b'), tool('x'.repeat(257)), tool('none', { inputSchema: null })],
      tool('task', { execution: { taskSupport: 'required' } }),
      tool('maybe', { execution: { taskSupport: 'optional' }, title: 'Its title' }),
      tool('long', { description: `${'x'.repeat(4_094)}😀 and more` }),
      tool('half', { description: 'x\ud83d', inputSchema: { description: `${'x'.repeat(1_999)}😀` } }),
      tool('n\ud83d'),
    ],
  }))
  assert.deepEqual(found.omitted, ['?', '?', '?', '?', '?', '?', 'none', 'task', '?'])
  assert.deepEqual(
    found.tools.map(({ name, description }) => [name, description.slice(-3)]),
    [
      ['maybe', 'tle'],
      ['long', 'x\ufffd…'],
      ['half', 'x\ufffd'],
    ],
  )
  assert.equal(found.tools[2]?.inputSchema?.description, `${'x'.repeat(1_999)}\ufffd`)
})
