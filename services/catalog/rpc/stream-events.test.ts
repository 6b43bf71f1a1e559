import assert from 'node:assert/strict'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { CatalogService, type StreamEventsResponse } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { createClient } from '#shared/rpc/client.ts'
import {
  asOperator,
  asWorkspace,
  type CatalogFixture,
  catalogTest,
  openCatalog,
  rejection,
  writeFiles,
} from '#test/support/catalog.ts'
import { connectHttp2 } from '#test/support/transports.ts'

/** Events of a catalog, read one by one; disposing it hangs up. */
async function listen({ client }: Pick<CatalogFixture, 'client'>, as = asOperator) {
  const hungUp = new AbortController()
  const stream = client.streamEvents({}, { ...as, signal: hungUp.signal })[Symbol.asyncIterator]()
  const next = async (): Promise<StreamEventsResponse['message']> => (await stream.next()).value.message
  assert.equal((await next()).case, 'connected')
  return {
    next,
    /** The directory of the next event, which must be of this kind. */
    async updated(kind: 'agentsUpdated' | 'skillsUpdated' = 'agentsUpdated'): Promise<string> {
      const message = await next()
      assert.ok(message.case === 'event' && message.value.event.case === kind, message.case)
      assert.match(message.value.eventId, /^evt_/)
      assert.ok(message.value.createTime)
      return message.value.directory
    },
    [Symbol.dispose]: () => hungUp.abort(),
  }
}

const generationOf = async ({ client }: CatalogFixture) => (await client.getAgent({}, asOperator)).generation

const describe = async ({ client }: CatalogFixture) =>
  (await client.getAgent({ agentId: 'own' }, asOperator)).agent?.description

const agentFile = (description: string) => `---\ndescription: ${description}\n---\nBe good.`

catalogTest(
  'a file that is written, changed, replaced or removed is an event, and another generation',
  async (catalog) => {
    const file = join(catalog.project, '.opencode/agents/own.md')
    const changes: Readonly<Record<string, () => Promise<void>>> = {
      'a file in folders that were not there': () =>
        writeFiles(catalog.project, { '.opencode/agents/own.md': agentFile('one') }),
      'a changed file': () => writeFile(file, agentFile('two')),
      'a file put in its place': async () => {
        await writeFile(join(catalog.outside, 'new.md'), agentFile('three'))
        await rename(join(catalog.outside, 'new.md'), file)
      },
      'a file below': () => writeFiles(catalog.project, { '.opencode/agents/deep/er/own.md': agentFile('deep') }),
      'a file below, changed': () =>
        writeFiles(catalog.project, { '.opencode/agents/deep/er/own.md': agentFile('deeper') }),
      'a removed file': () => rm(file),
      'folders that are gone': () => rm(join(catalog.project, '.opencode'), { recursive: true }),
      'folders made again': () => writeFiles(catalog.project, { '.opencode/agents/own.md': agentFile('four') }),
      'a file in a folder made again': () => writeFile(file, agentFile('five')),
      'a document of the project': () => writeFiles(catalog.project, { 'opencode.json': '{"agents":{"more":{}}}' }),
      'a document of the user': () => writeFiles(catalog.config, { 'opencode.json': '{"agents":{"most":{}}}' }),
    }
    const seen = new Set([await generationOf(catalog)])
    using events = await listen(catalog)
    for (const [name, change] of Object.entries(changes)) {
      await change()
      // Nobody requests agents from the catalog meanwhile: it has to notice by itself. Two writes may cause two events.
      assert.equal(await events.updated(), catalog.project, name)
      const generation = await settled(catalog, events)
      assert.equal(seen.has(generation), false, name)
      seen.add(generation)
    }
  },
)

/** The generation after all events of a change have come. */
async function settled(catalog: CatalogFixture, events: Awaited<ReturnType<typeof listen>>): Promise<string> {
  const generation = await generationOf(catalog)
  // A change of the test's own comes last.
  await writeFiles(catalog.project, { 'opencode.jsonc': JSON.stringify({ agents: { last: { system: generation } } }) })
  const last = await generationOf(catalog)
  assert.notEqual(last, generation)
  await events.updated()
  return generation
}

test('a skill that is written, changed or removed is soon an event of its own', async () => {
  await using catalog = await openCatalog()
  const { project, config } = catalog
  const file = '.claude/skills/own/SKILL.md'
  const changes: readonly (() => Promise<void>)[] = [
    () => writeFiles(project, { [file]: 'One.' }),
    () => writeFile(join(project, file), 'Two.'),
    () => rm(join(project, '.claude'), { recursive: true }),
    () => writeFiles(project, { '../.agents/skills/home/SKILL.md': 'Of the home.' }),
    () => writeFiles(config, { 'skills/user/SKILL.md': 'Of the user.' }),
  ]
  let before = await generationOf(catalog)
  using events = await listen(catalog)
  for (const change of changes) {
    await change()
    assert.equal(await events.updated('skillsUpdated'), project)
    const generation = await generationOf(catalog)
    assert.notEqual(generation, before)
    before = generation
  }
})

catalogTest('rewriting a file with the same content causes no event', async (catalog) => {
  await writeFiles(catalog.project, { '.opencode/agents/own.md': agentFile('one') })
  const before = await generationOf(catalog)
  using events = await listen(catalog)
  await writeFiles(catalog.project, { '.opencode/agents/own.md': agentFile('one') })
  assert.equal(await generationOf(catalog), before)
  await writeFiles(catalog.project, { 'README.md': 'no agent', '.opencode/agents/notes.txt': 'neither' })
  assert.equal(await generationOf(catalog), before)
  await writeFiles(catalog.project, { '.opencode/agents/own.md': agentFile('two') })
  await generationOf(catalog)
  await events.updated()
  assert.equal(await describe(catalog), 'two', 'the first event is that of the first change')
})

catalogTest('a half-written file counts as it was before, including what it forbids', async (catalog) => {
  const whole = JSON.stringify({
    permissions: [{ action: 'bash', resource: '*', effect: 'deny' }],
    agents: { own: {} },
  })
  await writeFiles(catalog.project, { 'opencode.json': whole, '.opencode/agents/own.md': agentFile('one') })
  const before = await generationOf(catalog)
  for (const length of [0, 1, 40, whole.length - 1]) {
    await writeFiles(catalog.project, { 'opencode.json': whole.slice(0, length) })
    assert.equal(await generationOf(catalog), before, `${length} characters`)
  }
  await writeFiles(catalog.project, { '.opencode/agents/own.md': '---\ndescription: [o\n---\n' })
  assert.equal(await describe(catalog), 'one')
  // A reload may also have found a file that was half written.
  assert.equal(new Set(catalog.warnings.map(({ problem }) => problem)).size, 5, 'each time it is logged')
  await rm(join(catalog.project, 'opencode.json'))
  assert.notEqual(await generationOf(catalog), before, 'one that is gone is gone')
  await writeFiles(catalog.project, { 'opencode.json': whole.slice(0, 40) })
  const { agents } = await catalog.client.listAgents({}, asOperator)
  assert.equal(
    agents[0]?.permissions.some(({ action }) => action === 'bash'),
    false,
    'and does not come back',
  )
})

test('a key sees only the events of its own roots', async () => {
  await using bare = await openCatalog()
  await mkdir(join(bare.project, 'own'))
  await using catalog = await openCatalog({ roots: { wrk_1: [join(bare.project, 'own')] } })
  const directories = [bare.project, join(bare.project, 'own')]
  for (const directory of directories) await catalog.client.listAgents({ directory }, asOperator)
  using events = await listen(catalog, asWorkspace)
  using all = await listen(catalog)
  await writeFiles(bare.project, { 'opencode.json': '{"agents":{"hidden":{}}}' })
  assert.equal(await all.updated(), bare.project)
  await writeFiles(join(bare.project, 'own'), { 'opencode.json': '{"agents":{"seen":{}}}' })
  assert.equal(await events.updated(), join(bare.project, 'own'))
})

test('a server that stops ends the streams with SERVICE_CLOSING', async () => {
  await using catalog = await openCatalog()
  await using connection = await connectHttp2(catalog.routes)
  const client = createClient(CatalogService, connection.transport)
  using events = await listen({ client })
  const drained = connection.server?.drain(3_600_000)
  await assert.rejects(events.next(), rejection('SERVICE_CLOSING'))
  await drained
})

test('streams within the process end with SERVICE_CLOSING when the service is closed', async () => {
  const catalog = await openCatalog()
  using events = await listen(catalog)
  const waiting = events.next()
  await Promise.all([assert.rejects(waiting, rejection('SERVICE_CLOSING')), catalog[Symbol.asyncDispose]()])
})
