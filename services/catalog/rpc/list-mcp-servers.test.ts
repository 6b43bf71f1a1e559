import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import { asOperator, openCatalog, runTool, writeFiles } from '#test/support/catalog.ts'
import { freePorts } from '#test/support/free-ports.ts'
import { configureMcp, mcpServers, packagedServer, untilOffered } from '#test/support/mcp.ts'

test('offers the tools of server-everything, over stdio and HTTP, and of server-filesystem', async (t) => {
  await using catalog = await openCatalog()
  const { client, project, config } = catalog
  const [port] = await freePorts(1)
  const remote = packagedServer('everything', 'streamableHttp').command
  const child = spawn(remote[0], remote.slice(1), {
    env: { ...process.env, PORT: `${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stderr, 'data')
  await writeFiles(project, { 'notes.txt': 'Remember.' })
  await configureMcp(config, {
    every: packagedServer('everything', 'stdio'),
    files: packagedServer('filesystem', project),
    far: { type: 'remote', url: `http://127.0.0.1:${port}/mcp`, headers: { 'x-key': 'k' } },
    off: { ...packagedServer('everything'), enabled: false },
  })

  await untilOffered(catalog, 'every', 'files', 'far')
  const servers = await mcpServers(catalog)
  assert.deepEqual(
    Object.values(servers).map(({ name, status, error }) => [name, status, error]),
    [
      ['every', Status.CONNECTED, undefined],
      ['files', Status.CONNECTED, undefined],
      ['far', Status.CONNECTED, undefined],
      ['off', Status.DISABLED, undefined],
    ],
  )
  assert.deepEqual(servers.every?.omittedTools, ['simulate-research-query'], 'it only works as a task of the protocol')
  const { tools } = await client.listTools({}, asOperator)
  const names = tools.map(({ name }) => name)
  for (const name of ['bash', 'every_echo', 'files_read_text_file', 'far_echo']) assert.ok(names.includes(name), name)
  assert.ok(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)))
  assert.deepEqual(tools.find(({ name }) => name === 'every_echo')?.inputSchema, {
    type: 'object',
    properties: { message: { type: 'string', description: 'Message to echo' } },
    required: ['message'],
  })

  const prepared = await client.prepareTool({ name: 'files_read_text_file', input: {} }, asOperator)
  assert.deepEqual(
    prepared.accesses.map(({ action, resources }) => [action, resources]),
    [['mcp', ['files/read_text_file']]],
  )
  assert.ok(prepared.external)
  assert.deepEqual(prepared.savePatterns, ['files/read_text_file'])
  const read = await runTool(catalog, 'files_read_text_file', { path: `${project}/notes.txt` })
  assert.equal(read.text, 'Remember.')
  for (const name of ['every', 'far']) {
    assert.equal((await runTool(catalog, `${name}_echo`, { message: 'hi' })).text, 'Echo: hi')
    const image = await runTool(catalog, `${name}_get-tiny-image`, {})
    assert.deepEqual(
      image.files.map(({ mime, name, data }) => [mime, name, data.length > 1_000]),
      [['image/png', 'image-1', true]],
    )
    const wrong = await runTool(catalog, `${name}_echo`, {})
    assert.equal(wrong.failure?.type, 'mcp_error')
    assert.match(wrong.text, /Input validation error/)
    const long = await runTool(catalog, `${name}_trigger-long-running-operation`, { duration: 0.6, steps: 2 })
    assert.deepEqual(long.progress[0], { progress: 1, total: 2 })
    const structured = await runTool(catalog, `${name}_get-structured-content`, { location: 'New York' })
    assert.deepEqual(structured.metadata.structuredContent, JSON.parse(structured.text))
  }
})
