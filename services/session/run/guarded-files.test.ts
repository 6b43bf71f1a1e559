import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type PermissionRequest, PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import { writeFiles } from '#test/support/catalog.ts'
import { openRealTools, type RealTools } from '#test/support/real-tools.ts'
import { asKey } from '#test/support/session-service.ts'
import { calls } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const CONFIG = JSON.stringify({ permissions: [{ action: 'bash', resource: '*', effect: 'deny' }] })

/** A project whose agents may do everything but run commands. */
async function openGuarded(): Promise<RealTools> {
  const tools = await openRealTools()
  await writeFiles(tools.catalog.project, { 'opencode.json': CONFIG })
  return tools
}

const write = (path: string, content = 'changed') => ({ id: path, name: 'write', input: { path, content } })
const textOf = ({ catalog }: RealTools, path: string) =>
  readFile(join(catalog.project, path), 'utf8').catch(() => undefined)

async function question({ service }: RealTools, path: string, sessionId = 'ses_1'): Promise<PermissionRequest> {
  return await waitUntil(`a request about ${path}`, async () => {
    const { requests } = await service.client.listPermissionRequests({ sessionId }, asKey)
    return requests.find(({ resources }) => resources.includes(path))
  })
}

async function reply({ service }: RealTools, { sessionId, requestId }: PermissionRequest, answer: Reply) {
  await service.client.replyPermissionRequest({ sessionId, requestId, reply: answer }, asKey)
}

test('an agent that may edit everything does not rewrite its own rules without asking', async () => {
  await using tools = await openGuarded()
  const { service } = tools
  await tools.create()
  const ways = [
    ...['opencode.json', '.opencode/agents/build.md', '.opencode/opencode.jsonc', '.git/hooks/pre-commit'],
    ...['.opencode/plugins/own.js', '.agents/skills/a/SKILL.md', '.claude/skills/a/SKILL.md'],
    // Nothing is looked for there: only the name of a folder says that it is guarded.
    ...['.agents/notes.md', '.claude/settings.json', 'deep/.agents/notes.md', 'deep/.claude/settings.json'],
  ]
  service.peers.turns.push(calls(...ways.map((path) => write(path)), write('plain.txt')))
  await service.prompt('Free yourself')
  for (const path of ways) {
    const asked = await question(tools, path)
    assert.deepEqual([asked.action, asked.savePatterns], ['edit', [join(tools.catalog.project, path)]])
  }
  await reply(tools, await question(tools, 'opencode.json'), Reply.REJECT)
  await service.wait()
  assert.equal(await textOf(tools, 'opencode.json'), CONFIG)
  for (const path of ways.slice(1)) assert.equal(await textOf(tools, path), undefined, path)
  assert.equal(await textOf(tools, 'plain.txt'), 'changed', 'what is not guarded is written without asking')
})

test('permission given for good is for that file, in every session of the project, and for no other', async () => {
  await using tools = await openGuarded()
  const { service } = tools
  await tools.create()
  service.peers.turns.push(calls(write('.opencode/agents/a.md')))
  await service.prompt('One')
  await reply(tools, await question(tools, '.opencode/agents/a.md'), Reply.ALWAYS)
  await service.wait()
  assert.equal(await textOf(tools, '.opencode/agents/a.md'), 'changed')
  await tools.create({ id: 'ses_2' })
  service.peers.turns.push(calls(write('.opencode/agents/a.md', 'again'), write('.opencode/agents/b.md')))
  await service.prompt('Two', { sessionId: 'ses_2' })
  await reply(tools, await question(tools, '.opencode/agents/b.md', 'ses_2'), Reply.REJECT)
  await service.wait('ses_2')
  assert.equal(await textOf(tools, '.opencode/agents/a.md'), 'again')
  assert.equal(await textOf(tools, '.opencode/agents/b.md'), undefined)
})

test('permission for a file in one directory does not cover a file of the same name in another', async () => {
  await using tools = await openGuarded()
  const { service, catalog } = tools
  await tools.create()
  service.peers.turns.push(calls(write('opencode.json')))
  await service.prompt('One')
  await reply(tools, await question(tools, 'opencode.json'), Reply.ALWAYS)
  await service.wait()
  await service.client.createSession({ sessionId: 'ses_2', directory: catalog.outside, title: 'Other' }, asKey)
  service.peers.turns.push(calls(write('opencode.json')))
  await service.prompt('Two', { sessionId: 'ses_2' })
  await reply(tools, await question(tools, 'opencode.json', 'ses_2'), Reply.REJECT)
  await service.wait('ses_2')
  await assert.rejects(readFile(join(catalog.outside, 'opencode.json')), { code: 'ENOENT' })
})

test("the session's rules lift the guard, and a denial of the agent's stays one", async () => {
  await using tools = await openGuarded()
  const { service, catalog } = tools
  await tools.create({ permissions: ['edit opencode.json allow'] })
  service.peers.turns.push(calls(write('opencode.json', '{}')))
  await service.prompt('One')
  await service.wait()
  assert.equal(await textOf(tools, 'opencode.json'), '{}')
  const deny = [{ action: 'edit', resource: '*', effect: 'deny' }]
  await writeFiles(catalog.project, { '.opencode/opencode.json': JSON.stringify({ permissions: deny }) })
  await tools.create({ id: 'ses_2' })
  service.peers.turns.push(calls(write('opencode.json')))
  await service.prompt('Two', { sessionId: 'ses_2' })
  await service.wait('ses_2')
  assert.deepEqual(
    (await service.calls('ses_2')).map(({ error }) => error?.type),
    ['permission.denied'],
  )
  assert.equal(await textOf(tools, 'opencode.json'), '{}')
})

for (const agent of ['plan', 'explore']) {
  test(`${agent} runs no command without asking`, async () => {
    await using tools = await openRealTools()
    const { service } = tools
    await tools.create({ agent })
    const command = 'touch made'
    service.peers.turns.push(calls({ id: 'a', name: 'bash', input: { command } }))
    await service.prompt('Look')
    await reply(tools, await question(tools, command), Reply.REJECT)
    await service.wait()
    assert.equal(await textOf(tools, 'made'), undefined)
  })
}

test('the agent plan may delegate to explore only', async () => {
  await using tools = await openRealTools()
  const { service } = tools
  await tools.create({ agent: 'plan' })
  const input = (subagent_type: string) => ({ description: 'Look', prompt: 'Find it', subagent_type })
  const wanted = ['general', 'explore'].map((agent) => ({ id: agent, name: 'task', input: input(agent) }))
  service.peers.turns.push(calls(...wanted))
  await service.prompt('Plan')
  await service.wait()
  const [general, explore] = await service.calls()
  assert.deepEqual([general?.error?.type, explore?.error], ['permission.denied', undefined])
  const task = service.peers.requests[0]?.tools.find(({ name }) => name === 'task')
  assert.match(task?.description ?? '', /- explore: (?![\s\S]*general)/)
})
