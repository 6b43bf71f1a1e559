import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { asOperator, asWorkspace, openCatalog, writeFiles } from '#test/support/catalog.ts'

test('a reload is one of the locations that the caller may use, each with an event', async () => {
  await using bare = await openCatalog()
  const own = join(bare.project, 'own')
  await mkdir(own)
  await using catalog = await openCatalog({ roots: { wrk_1: [own] } })
  for (const directory of [bare.project, own]) await catalog.client.listAgents({ directory }, asOperator)
  const hungUp = new AbortController()
  const stream = catalog.client.streamEvents({}, { ...asOperator, signal: hungUp.signal })[Symbol.asyncIterator]()
  const next = async () => (await stream.next()).value?.message
  assert.equal((await next())?.case, 'connected')
  await catalog.client.reloadLocations({}, asWorkspace)
  await writeFiles(bare.project, { 'opencode.json': '{"agents":{"own":{}}}' })
  const seen: string[] = []
  for (let i = 0; i < 2; i++) {
    const message = await next()
    if (message?.case === 'event') seen.push(`${message.value.event.case} ${message.value.directory}`)
  }
  assert.deepEqual(seen, [`locationShutdown ${own}`, `agentsUpdated ${bare.project}`])
  hungUp.abort()
})

test('a file that cannot be read at a reload counts as it was', async () => {
  await using catalog = await openCatalog()
  const whole = '{"permissions":[{"action":"bash","resource":"*","effect":"deny"}]}'
  await writeFiles(catalog.project, { 'opencode.json': whole, '.claude/skills/one/SKILL.md': 'One.' })
  const read = async () => {
    const { agent, generation } = await catalog.client.getAgent({}, asOperator)
    return { generation, denied: agent?.permissions.some(({ action }) => action === 'bash') }
  }
  const before = await read()
  assert.equal(before.denied, true)
  await writeFiles(catalog.project, {
    'opencode.json': whole.slice(0, 40),
    '.claude/skills/one/SKILL.md': '---\n[\n---\n',
  })
  await catalog.client.reloadLocations({}, asOperator)
  assert.deepEqual(await read(), before)
})
