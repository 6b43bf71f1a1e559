import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { InstanceClient, type WirePart } from '#test/support/instance-client.ts'
import { scriptedServer } from '#test/support/mcp.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { noneAlive, scratchDirectory } from '#test/support/processes.ts'
import { type Setting, startSingle, startSplit } from '#test/support/product.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

const database = freshDatabaseName()
const splitOnMongo = (setting: Setting) => {
  const environment = { ...setting.environment, PORTICO_MONGODB_DATABASE: database }
  return startSplit(mongoUri() ?? '', { ...setting, environment })
}

const PLUGIN = `export default { id: 'house', setup({ tool, hook }) {
  tool({ name: 'note', description: 'Notes.', inputSchema: { type: 'object' }, execute: () => 'noted' })
  hook('prompt', ({ metadata }) => ({ metadata: { ...metadata, seen: true } }))
} }`

const skill = (text: string): string => `---\ndescription: How we greet\n---\n${text}`
const allow = (action: string) => ({ action, resource: '*', effect: 'allow' })
const called = (name: string, input: object): string => `/tool ${name} ${JSON.stringify(input)}`
const delegated = (prompt: string): string => called('task', { description: 'Work', prompt, subagent_type: 'helper' })

interface Listed<T> {
  readonly data: readonly T[]
}

suite('extensions of agents work alike in both modes', () => {
  if (skipWithoutMongo === false) after(() => dropDatabase(database))

  for (const [mode, start, skip] of [
    ['one process on SQLite', startSingle, false],
    ['five processes on MongoDB', splitOnMongo, skipWithoutMongo],
  ] as const) {
    test(`skills, a plugin, an MCP server, subagents, reload and compaction in ${mode}`, { skip }, async () => {
      using data = scratchDirectory()
      using project = scratchDirectory()
      const write = (path: string, text: string): void => {
        mkdirSync(dirname(join(project.path, path)), { recursive: true })
        writeFileSync(join(project.path, path), text)
      }
      const { entry } = scriptedServer(project.path)
      write('.agents/skills/greet/SKILL.md', skill('Say ahoy.'))
      write('.opencode/agents/helper.md', '---\nmode: subagent\n---\nHelp.')
      write('.opencode/plugins/house.js', PLUGIN)
      write('opencode.json', JSON.stringify({ mcp: { server: entry } }))
      const environment = { PORTICO_TRUSTED_DIRECTORIES: JSON.stringify([project.path]) }
      const product = await start({ dataDirectory: data.path, project: project.path, environment })
      const hungUp = new AbortController()
      try {
        const client = new InstanceClient(product.url)
        const list = async <T>(path: string): Promise<readonly T[]> => ((await client.get(path)) as Listed<T>).data
        const calls = async (session: string): Promise<WirePart[]> =>
          (await client.messages(session)).flatMap(({ content = [] }) => content).filter(({ type }) => type === 'tool')
        const textOf = (part: WirePart | undefined): string => JSON.stringify(part?.state?.content)
        const outcome = async (session: string): Promise<unknown> =>
          ((await client.get(`/api/session/${session}`)) as { data: { outcome?: string } }).data.outcome
        const permissionOf = (session: string) =>
          waitUntil(
            'a permission request',
            async () => (await list<{ id: string; sessionID: string }>(`/api/session/${session}/permission`))[0],
          )

        // Each is listed.
        const ids = async (path: string) =>
          (await list<{ id?: string; name?: string }>(path)).map(({ id, name }) => id ?? name)
        assert.deepEqual(await ids('/api/skill'), ['greet'])
        assert.ok((await ids('/api/agent')).includes('helper'))
        assert.deepEqual(await list<object>('/api/plugin').then((all) => all.map((one) => ({ ...one, source: 0 }))), [
          { id: 'house', source: 0, features: { server: true }, state: { status: 'active' } },
        ])
        const [server] = await list<{ name: string; status: string }>('/api/mcp')
        assert.deepEqual([server?.name, server?.status], ['server', 'connected'])

        // A change is an event.
        const stream = await fetch(`${product.url}/api/event`, { signal: hungUp.signal })
        let events = ''
        void (async () => {
          for await (const chunk of (stream.body ?? []) as AsyncIterable<Uint8Array>) events += Buffer.from(chunk)
        })().catch(() => {})
        await waitFor('the stream', () => events !== '')
        write('.agents/skills/greet/SKILL.md', skill('Say hello.'))
        await waitFor('skill.updated', () => events.includes('"skill.updated"'))

        // Each is used, by a session and by one below it, whose permission request the root shows.
        const root = await client.createSession({
          permissions: [allow('note'), allow('mcp'), { action: 'bash', resource: '*', effect: 'ask' }],
        })
        const tools = [called('skill', { id: 'greet' }), called('note', {}), called('server_wait', { ms: 1, tag: 'a' })]
        await client.prompt(root, { id: 'msg_work', text: tools.join('\n') })
        await client.prompt(root, {
          text: delegated(called('bash', { command: 'echo lighthouse' })),
          delivery: 'queue',
        })
        const asked = await permissionOf(root)
        const [child = ''] = await client.children(root)
        assert.equal(asked.sessionID, child)
        await client.post(`/api/session/${child}/permission/${asked.id}/reply`, { reply: 'once' })
        await client.wait(root)
        const [readSkill, note, wait, task] = await calls(root)
        assert.match(textOf(readSkill), /Say hello\./)
        assert.match(textOf(note), /noted/)
        for (const part of [wait, task]) assert.equal(part?.state?.status, 'completed', JSON.stringify(part))
        assert.match(textOf((await calls(child))[0]), /lighthouse/)
        const { data: prompted } = (await client.get(`/api/session/${root}/message/msg_work`)) as {
          data: { metadata: object }
        }
        assert.deepEqual(prompted.metadata, { seen: true })

        // Without a rule, a call of the server waits for a reply. A reload rejects what waits, and the run goes on.
        const waits = await client.createSession({ permissions: [{ action: 'bash', resource: '*', effect: 'ask' }] })
        await client.prompt(waits, {
          text: `${called('bash', { command: 'true' })}\n${called('server_wait', { ms: 1, tag: 'b' })}`,
        })
        const requested = await waitUntil('both requests', async () => {
          const found = await list<{ action: string; resources: string[] }>(`/api/session/${waits}/permission`)
          return found.length === 2 ? found : undefined
        })
        assert.deepEqual(requested.map(({ action, resources }) => [action, ...resources]).sort(), [
          ['bash', 'true'],
          ['mcp', 'server/wait'],
        ])
        await client.post('/api/location/reload', undefined)
        assert.deepEqual(await list(`/api/session/${waits}/permission`), [])
        await client.wait(waits)
        assert.deepEqual(
          [(await calls(waits)).map(({ state }) => state?.status), await outcome(waits)],
          [['error', 'error'], 'succeeded'],
        )
        await waitFor('location.shutdown', () => events.includes('"location.shutdown"'))

        // A conversation is summarized.
        await client.post(`/api/session/${root}/compact`, {})
        await client.wait(root)
        const [summary] = await list<{ type: string; status: string }>(`/api/session/${root}/context`)
        assert.deepEqual([summary?.type, summary?.status], ['compaction', 'completed'])

        // An interrupt reaches the sessions below.
        const stopped = await client.createSession({ permissions: [allow('bash')] })
        await client.prompt(stopped, { text: delegated(called('bash', { command: `sleep 1000; : ${project.path}` })) })
        const [below = ''] = await waitUntil('the child', async () => {
          const found = await client.children(stopped)
          return found[0] !== undefined && (await calls(found[0]))[0]?.state?.status === 'running' ? found : undefined
        })
        await client.post(`/api/session/${stopped}/interrupt`, undefined)
        for (const session of [stopped, below]) {
          await client.wait(session)
          assert.equal(await outcome(session), 'interrupted')
        }
        hungUp.abort()
        assert.equal(await product.stop(), 0)
        await noneAlive(project.path)
      } finally {
        hungUp.abort()
        await product.kill()
      }
    })
  }
})
