import assert from 'node:assert/strict'
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { reasonOf } from '#shared/reasons.ts'
import { asOperator, asWorkspace, openCatalog, writeFiles } from '#test/support/catalog.ts'

test('a reload covers the locations that the caller may use, each with an event', async () => {
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

/** Asserts that a reload fails, and with which error. */
async function assertFails(catalog: Awaited<ReturnType<typeof openCatalog>>, ...problems: readonly string[]) {
  await assert.rejects(catalog.client.reloadLocations({}, asOperator), (error) => {
    const { reason, metadata } = reasonOf(error) ?? assert.fail()
    assert.deepEqual([reason, { ...metadata }], ['LOCATION_RELOAD_FAILED', { problems: problems.join('; ') }])
    return true
  })
}

test('unreadable configuration fails a reload, and counts as it was before; an unreadable skill is skipped', async () => {
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
  const path = join(catalog.project, 'opencode.json')
  await assertFails(catalog, `${catalog.project}: ${path}: not valid JSON at line 1, column 34`)
  assert.deepEqual(await read(), before)
  await writeFiles(catalog.project, { 'opencode.json': whole })
  await catalog.client.reloadLocations({}, asOperator)
  assert.deepEqual(await read(), before)
})

test('a reload reloads plugins even if their modules are unchanged', async () => {
  await using catalog = await openCatalog()
  await writeFiles(catalog.outside, {
    'plugin.mjs': `import { existsSync } from 'node:fs'
      export default { id: 'late', setup({ directory }) { if (!existsSync(directory + '/now')) throw new Error('not yet') } }`,
  })
  const document = JSON.stringify({ plugins: [join(catalog.outside, 'plugin.mjs')] })
  await writeFiles(catalog.config, { 'opencode.json': document })
  const errors = async () => {
    const { plugins } = await catalog.client.listPlugins({}, asOperator)
    return plugins.map(({ failure }) => failure?.error)
  }
  assert.match((await errors())[0] ?? '', /not yet/)
  await writeFiles(catalog.project, { now: '' })
  assert.match((await errors())[0] ?? '', /not yet/, 'it is tried once')
  await catalog.client.reloadLocations({}, asOperator)
  assert.deepEqual(await errors(), [undefined])
})

test('a directory that is gone at a reload fails it once, by name', async () => {
  await using catalog = await openCatalog()
  const all = ['file', 'gone', 'linked'].map((name) => join(catalog.outside, name))
  const [file, gone, linked] = all as [string, string, string]
  const generations = async () => {
    const answers = all.map((directory) => catalog.client.getAgent({ directory }, asOperator))
    return (await Promise.all(answers)).map(({ generation }) => generation)
  }
  await writeFiles(gone, { 'opencode.json': '{"agents":{"own":{}}}' })
  for (const directory of [file, linked]) await mkdir(directory)
  const before = await generations()
  for (const directory of all) await rename(directory, `${directory}.away`)
  await writeFile(file, '')
  await symlink(catalog.project, linked)
  const another = 'it is not a directory any more, or leads to another one'
  await assertFails(catalog, `${file}: ${another}`, `${gone}: it is gone, or cannot be read`, `${linked}: ${another}`)
  await catalog.client.reloadLocations({}, asOperator)
  for (const path of [file, linked]) await rm(path)
  for (const directory of all) await rename(`${directory}.away`, directory)
  catalog.advance(1_000)
  assert.deepEqual(await generations(), before)
})
