import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { McpServer_Status as Status } from '#gen/portico/catalog/v1/catalog_pb.js'
import { openCatalog, runTool } from '#test/support/catalog.ts'
import { configureMcp, mcpServers, untilOffered } from '#test/support/mcp.ts'
import { waitFor } from '#test/support/wait-until.ts'

type Answer = (response: ServerResponse, id: number) => void

const json: (result: object) => Answer = (result) => (response, id) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}
const events = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

const FINE = { content: [{ type: 'text', text: 'fine' }] }

/**
 * Entry of a server whose tool `fine` answers with a stream of messages; `reply` is called with the ids of requests of
 * the server that were replied to.
 */
async function serveTool(
  t: TestContext,
  call: (stream: ServerResponse, id: number, message: (one: object) => string) => void,
  reply: (id: unknown) => Promise<void>,
) {
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(await text(request))
    if (method === undefined) await reply(id)
    if (id === undefined || method === undefined) return void response.writeHead(202).end()
    if (method === 'initialize') {
      const { protocolVersion } = params
      const serverInfo = { name: 's', version: '1' }
      return json({ protocolVersion, capabilities: { tools: {} }, serverInfo })(response, id)
    }
    if (method === 'tools/list') {
      return json({ tools: [{ name: 'fine', inputSchema: { type: 'object' } }] })(response, id)
    }
    call(events(response), id, (one) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...one })}\n\n`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { type: 'remote', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }
}

/** How a call of a tool goes wrong, by the tool's name; each is received once. */
const TOOLS: Readonly<Record<string, Answer>> = {
  cut: (response) => events(response).end(': nothing\n\n'),
  reset: (response) => events(response).write(': nothing\n\n', () => response.destroy()),
  large: (response) => {
    const chunk = 'x'.repeat(1 << 20)
    events(response).write('data: {"a":"')
    const more = (): void => void (response.destroyed || response.write(chunk, more))
    more()
  },
  error: (response) => response.writeHead(500).end('broken'),
  fine: json({ content: [{ type: 'text', text: 'fine' }] }),
  forgotten: (response) => response.writeHead(404).end('who?'),
}

test('a call fails, and is sent once, when a remote server breaks off, floods, fails or forgets the session; the server is then available again', async (t) => {
  const received: string[] = []
  let greeted = 0
  let wantsToken = false
  const server = createServer(async (request, response) => {
    const { authorization, 'x-status': status = 401 } = request.headers
    if (wantsToken && authorization !== 'Bearer t') return void response.writeHead(Number(status)).end('not now')
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const body = await text(request)
    const { id, method, params } = JSON.parse(body)
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'initialize') {
      response.setHeader('mcp-session-id', `session-${++greeted}`)
      const { protocolVersion } = params
      return json({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })(
        response,
        id,
      )
    }
    if (method === 'tools/list') {
      return json({ tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: 'object' } })) })(
        response,
        id,
      )
    }
    received.push(params.name)
    TOOLS[params.name]?.(response, id)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  await using catalog = await openCatalog()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  await configureMcp(catalog.config, { far: { type: 'remote', url } })
  await untilOffered(catalog, 'far')
  for (const [tool, kind] of [
    ['cut', 'outcome_unknown'],
    ['reset', 'outcome_unknown'],
    ['large', 'outcome_unknown'],
    ['error', 'outcome_unknown'],
    ['fine', undefined],
    ['forgotten', 'outcome_unknown'],
  ] as const) {
    const { failure } = await runTool(catalog, `far_${tool}`, {})
    assert.equal(failure?.type, kind, `${tool}: ${failure?.message}`)
  }
  assert.equal((await runTool(catalog, 'far_fine', {})).text, 'fine', 'in a new session')
  assert.deepEqual([received, greeted], [[...Object.keys(TOOLS), 'fine'], 2])

  wantsToken = true
  const entry = { type: 'remote', url }
  await configureMcp(catalog.config, {
    far: { ...entry, headers: { 'x-status': '401' } },
    ill: { ...entry, headers: { 'x-status': '500' } },
    near: { ...entry, headers: { authorization: 'Bearer t' } },
  })
  await waitFor('both', async () => (await mcpServers(catalog)).near?.status === Status.CONNECTED)
  const { far, ill } = await mcpServers(catalog)
  assert.equal(far?.status, Status.NEEDS_AUTH)
  assert.match(far.error ?? '', /give it a token in `headers`/)
  assert.match(ill?.error ?? '', /^It answered with status 500: .*not now/)
})

test('a stream on which a remote server sends large messages of its own accord is broken off each time; its calls work', async (t) => {
  let opened = 0
  const brokenOff = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') {
      opened++
      response.on('close', brokenOff.resolve)
      const params = { progressToken: 1, progress: 1, message: 'x'.repeat(4 << 20) }
      const message = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`
      const more = (): void => void (response.destroyed || response.write(message, more))
      events(response)
      return more()
    }
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const { id, method, params } = JSON.parse(await text(request))
    if (id === undefined) return void response.writeHead(202).end()
    if (method === 'initialize') {
      const { protocolVersion } = params
      json({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })(response, id)
    } else if (method === 'tools/list') {
      json({ tools: [{ name: 'fine', inputSchema: { type: 'object' } }] })(response, id)
    } else json({ content: [{ type: 'text', text: 'fine' }] })(response, id)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  await using catalog = await openCatalog()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  await configureMcp(catalog.config, { far: { type: 'remote', url } })
  await untilOffered(catalog, 'far')
  await brokenOff.promise
  assert.ok(opened >= 1)
  assert.equal((await runTool(catalog, 'far_fine', {})).text, 'fine')
})

for (const [ids, idOf] of [
  ['different ids', (i: number) => `r${i}`],
  ['the same id', () => 'r'],
] as const) {
  test(`requests of a remote server with ${ids} get few replies at a time and a limited number in all; its calls work meanwhile`, async (t) => {
    let [replies, most, all] = [0, 0, 0]
    let since = Number.NaN
    const far = await serveTool(
      t,
      (response, id, message) => {
        for (let i = 0; i < 1_000; i++) response.write(message({ id: idOf(i), method: 'roots/list' }))
        response.end(message({ id, result: FINE }))
      },
      async () => {
        if (all++ === 0) since = performance.now()
        most = Math.max(most, ++replies)
        await new Promise((resolve) => setTimeout(resolve, 2))
        replies--
      },
    )
    await using catalog = await openCatalog()
    await configureMcp(catalog.config, { far })
    await untilOffered(catalog, 'far')
    assert.equal((await runTool(catalog, 'far_fine', {})).text, 'fine')
    await waitFor('the replies to end', () => all > 0 && replies === 0)
    const ms = performance.now() - since
    assert.ok(most <= 8 && all <= 8 * (1 + ms / 90), `${all} replies in ${ms} ms, ${most} at the same time`)
  })
}

test('a remote server that has cancelled many of its requests gets replies to later ones', async (t) => {
  const replied: unknown[] = []
  let calls = 0
  const far = await serveTool(
    t,
    (response, id, message) => {
      const cancelled = (requestId: string): string =>
        message({ id: requestId, method: 'ping' }) +
        message({ method: 'notifications/cancelled', params: { requestId } })
      if (calls++ === 0) for (let i = 0; i < 10; i++) response.write(cancelled(`c${i}`))
      else response.write(message({ id: 'kept', method: 'ping' }))
      response.end(message({ id, result: FINE }))
    },
    async (reply) => void replied.push(reply),
  )
  await using catalog = await openCatalog()
  await configureMcp(catalog.config, { far })
  await untilOffered(catalog, 'far')
  for (let i = 0; i < 2; i++) assert.equal((await runTool(catalog, 'far_fine', {})).text, 'fine')
  await waitFor('the reply', () => replied.includes('kept'))
})

test('the stream of a call that was answered or aborted is closed, even if the server does not end it', async (t) => {
  let [open, all] = [0, 0]
  const far = await serveTool(
    t,
    (response, id, message) => {
      open++
      response.on('close', () => open--)
      // The first call gets no answer.
      response.write(all++ === 0 ? ': wait\n\n' : message({ id, result: FINE }))
    },
    async () => {},
  )
  await using catalog = await openCatalog()
  await configureMcp(catalog.config, { far })
  await untilOffered(catalog, 'far')
  const aborting = new AbortController()
  const aborted = runTool(catalog, 'far_fine', {}, { signal: aborting.signal })
  await waitFor('the call', () => open === 1)
  aborting.abort()
  await assert.rejects(aborted)
  for (let i = 0; i < 2; i++) assert.equal((await runTool(catalog, 'far_fine', {})).text, 'fine')
  await waitFor('all streams to be closed', () => open === 0)
  assert.equal(all, 3)
})

test('a redirect is followed only within the server: the configured headers are for it alone', async (t) => {
  const asked: string[] = []
  const serve = async (name: string, moved: Record<string, string>): Promise<string> => {
    const server = createServer(async (request, response) => {
      asked.push(`${name}${request.url} ${request.headers['x-token']}`)
      const location = moved[request.url ?? '']
      if (location !== undefined) return void response.writeHead(307, { location }).end()
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const { id, method, params } = JSON.parse(await text(request))
      if (id === undefined) return void response.writeHead(202).end()
      if (method === 'initialize') {
        const { protocolVersion } = params
        json({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } })(response, id)
      } else json({ tools: [{ name: 'fine', inputSchema: { type: 'object' } }] })(response, id)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const other = await serve('other', {})
  const near = await serve('near', { '/mcp': '/mcp/', '/left': `${other}/mcp` })
  await using catalog = await openCatalog()
  const entry = (path: string) => ({ type: 'remote', url: `${near}${path}`, headers: { 'x-token': 'secret' } })
  await configureMcp(catalog.config, { moved: entry('/mcp'), left: entry('/left') })
  const { moved, left } = await mcpServers(catalog)
  assert.equal(moved?.status, Status.CONNECTED)
  assert.equal(left?.status, Status.FAILED)
  assert.match(left.error ?? '', new RegExp(`Redirect to ${other}/mcp not followed`))
  assert.deepEqual(
    asked.filter((line) => !line.startsWith('near')),
    [],
  )
  assert.ok(asked.includes('near/mcp/ secret'))
})
