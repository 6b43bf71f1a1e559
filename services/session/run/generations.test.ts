import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import type { Routes } from '#shared/rpc/routes.ts'
import { asOperator, writeFiles } from '#test/support/catalog.ts'
import { openRealTools, type RealTools } from '#test/support/real-tools.ts'
import { calls, type Turn, text } from '#test/support/session-turns.ts'

/** A method of the catalog that was called, and the generation that it named or returned. */
type Seen = readonly [method: string, generation: string | undefined]

/** Counts the calls of a catalog; `before` runs in front of each. */
function watched(seen: Seen[], before: (method: string) => Promise<void> | void) {
  // biome-ignore lint/suspicious/noExplicitAny: any method of any form is passed through.
  const wrap = (method: string, handler: any) => (request: any, context: any) => {
    const stream = method === 'runTool'
    if (stream) seen.push([method, request.generation])
    if (stream) return handler(request, context)
    return (async () => {
      await before(method)
      const answer = await handler(request, context)
      seen.push([method, request.generation ?? answer.generation])
      return answer
    })()
  }
  return (routes: Routes): Routes => ({
    ...routes,
    services: routes.services.map((service) => ({
      ...service,
      implementation: Object.fromEntries(
        Object.entries(service.implementation).map(([method, handler]) => [method, wrap(method, handler)]),
      ),
    })),
  })
}

const agentFile = (system: string) => ({ '.opencode/agents/build.md': system })

/** The system message of each request to the model. */
const systems = ({ service }: RealTools) =>
  service.peers.requests.map(({ messages }) => JSON.stringify(messages[0]).match(/Be (\w+)\./)?.[1])

const read = (id: string) => ({ id, name: 'read', input: { path: 'a.txt' } })

test('a step has one generation from its agent to its last tool call, and calls the catalog once for each', async () => {
  const seen: Seen[] = []
  await using tools = await openRealTools(watched(seen, () => {}))
  const { catalog, service } = tools
  await writeFiles(catalog.project, { 'a.txt': 'A', ...agentFile('Be brief.') })
  await tools.create()
  seen.length = 0
  const edits: Turn = async function* (...given) {
    await writeFiles(catalog.project, agentFile('Be thorough.'))
    yield* calls(read('a'), read('b'))(...given)
  }
  service.peers.turns.push(edits, text('Read.'))
  await service.prompt('Read')
  await service.wait()
  assert.deepEqual(systems(tools), ['brief', 'thorough'], 'what is edited during a step counts in the next one')
  // What the admission of the prompt asks is of no step.
  const ofSteps = seen.filter(([method]) => method !== 'listHooks')
  const [first, second] = [ofSteps.slice(0, 7), ofSteps.slice(7)]
  assert.deepEqual(
    [first, second].map((step) => step.map(([method]) => method).sort()),
    [
      ['getAgent', 'listAgents', 'listTools', 'prepareTool', 'prepareTool', 'runTool', 'runTool'],
      ['getAgent', 'listAgents', 'listTools'],
    ],
  )
  const generations = [first, second].map((step) => new Set(step.map(([, generation]) => generation)))
  assert.deepEqual(
    generations.map(({ size }) => size),
    [1, 1],
  )
  assert.equal(generations[0]?.isDisjointFrom(generations[1] ?? new Set()), true)
  assert.deepEqual(
    (await service.calls()).map(({ state }) => state),
    [State.COMPLETED, State.COMPLETED],
  )
})

test('a generation that is gone before the model is called begins the step anew with the present one', async () => {
  const seen: Seen[] = []
  const changes = { left: 1 }
  const tools: RealTools = await openRealTools(
    watched(seen, async (method) => {
      if (method === 'listTools' && changes.left-- > 0) await forget(tools)
    }),
  )
  await using _ = tools
  await writeFiles(tools.catalog.project, agentFile('Be brief.'))
  await tools.create()
  await tools.service.prompt('Hello')
  await tools.service.wait()
  assert.deepEqual(systems(tools), ['new'])
  assert.equal(await tools.service.outcome(), Outcome.SUCCEEDED)
})

test('a call whose generation is gone is not run: the model sees why, and the next step has the current one', async () => {
  const seen: Seen[] = []
  const tools: RealTools = await openRealTools(
    watched(seen, async (method) => {
      if (method === 'prepareTool' && tools.service.peers.requests.length === 1) await forget(tools)
    }),
  )
  await using _ = tools
  const { catalog, service } = tools
  await writeFiles(catalog.project, { 'a.txt': 'A', ...agentFile('Be brief.') })
  await tools.create()
  service.peers.turns.push(calls(read('a')), calls(read('b')), text('Read.'))
  await service.prompt('Read')
  await service.wait()
  assert.deepEqual(systems(tools), ['brief', 'new', 'new'])
  const [failed, completed] = await service.calls()
  assert.deepEqual([failed?.state, failed?.error?.type], [State.ERROR, 'tool.location_changed'])
  assert.equal(completed?.state, State.COMPLETED)
  assert.equal(seen.filter(([method]) => method === 'runTool').length, 1)
})

/** Changes what the location offers so often that the catalog keeps nothing of what it was. */
async function forget({ catalog }: RealTools): Promise<void> {
  await writeFiles(catalog.project, agentFile('Be new.'))
  for (let i = 0; i < 20; i++) {
    await writeFiles(catalog.project, { 'opencode.json': JSON.stringify({ agents: { [`a${i}`]: {} } }) })
    await catalog.client.listAgents({}, asOperator)
  }
}

test('AGENTS.md is part of the instructions of the step that begins after it was written', async () => {
  await using tools = await openRealTools()
  const { catalog, service } = tools
  await writeFiles(catalog.project, { 'a.txt': 'A', 'AGENTS.md': 'Be brief.' })
  await tools.create()
  const edits: Turn = async function* (...given) {
    await writeFiles(catalog.project, { 'AGENTS.md': 'Be thorough.' })
    yield* calls(read('a'))(...given)
  }
  service.peers.turns.push(edits, text('Read.'))
  await service.prompt('Read')
  await service.wait()
  assert.deepEqual(systems(tools), ['brief', 'thorough'])
})
