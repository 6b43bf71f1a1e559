import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { git } from '#test/support/catalog.ts'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'

const at = (directory: string) => `/api/location?location[directory]=${encodeURIComponent(directory)}`

test('location.get resolves the default directory, outside any repository', async () => {
  await using portico = await openPortico()
  const answer = await portico.fetch('/api/location')
  assert.equal(answer.status, 200)
  const { project } = portico
  const global = { id: 'global', directory: project, canonical: project }
  assert.deepEqual(await answer.json(), { directory: project, project: global })
})

test('location.get returns the project of a directory inside a repository', async () => {
  await using portico = await openPortico({}, { 'repo/src/a.txt': 'a' })
  const repo = join(portico.project, 'repo')
  git(repo, 'init', '-q')
  git(repo, 'add', '.')
  git(repo, 'commit', '-qm', 'first')
  const id = git(repo, 'rev-list', '--max-parents=0', 'HEAD')
  const directory = join(repo, 'src')
  const answer = await portico.fetch(at(directory))
  assert.deepEqual(await answer.json(), { directory, project: { id, directory: repo, canonical: repo } })
})

test('the directory comes from the query, else from the header, which is percent-encoded', async () => {
  await using portico = await openPortico({}, { 'ünï code/a.txt': 'a' })
  const directory = join(portico.project, 'ünï code')
  const directoryOf = async (path: string, header: string) => {
    const answer = await portico.fetch(path, { headers: { 'x-opencode-directory': header } })
    return ((await answer.json()) as { directory: string }).directory
  }
  assert.equal(await directoryOf('/api/location', encodeURIComponent(directory)), directory)
  assert.equal(await directoryOf(at(portico.outside), encodeURIComponent(directory)), portico.outside)
  const clients1x = `${at(directory)}&location[workspace]=w&directory=x&workspace=y`
  assert.equal(await directoryOf(clients1x, ''), directory)
  assert.equal(await directoryOf('/api/location?location=', ''), portico.project)
})

test('a location that is no object of one directory is 400', async () => {
  await using portico = await openPortico()
  const expected = { _tag: 'InvalidRequestError', message: 'location: must be location[directory]', kind: 'Query' }
  for (const query of ['location=/x', 'location[directory][a]=/x', 'location[other]=/x', 'location[]=x']) {
    const answer = await portico.fetch(`/api/location?${query}`)
    assert.equal(answer.status, 400, query)
    assert.deepEqual(await answer.json(), expected)
  }
  const twice = await portico.fetch('/api/location?location[directory]=/a&location[directory]=/b')
  assert.equal(twice.status, 400)
  const message = 'location[directory]: must be given only once'
  assert.deepEqual(await twice.json(), { _tag: 'InvalidRequestError', message, kind: 'Query' })
  const header = await portico.fetch('/api/location', { headers: { 'x-opencode-directory': '%E0%A4' } })
  assert.equal(header.status, 400)
  assert.deepEqual(await header.json(), {
    _tag: 'InvalidRequestError',
    message: 'x-opencode-directory: must be percent-encoded',
    kind: 'Headers',
  })
})

test('a relative path, NUL, and a file instead of a directory are 400', async () => {
  await using portico = await openPortico({}, { 'a.txt': 'a' })
  for (const directory of ['relative/path', '/a\0b', join(portico.project, 'a.txt')]) {
    const answer = await portico.fetch(at(directory))
    assert.equal(answer.status, 400, directory)
    assert.equal(((await answer.json()) as { _tag: string })._tag, 'InvalidRequestError')
  }
})

test('bearer: a directory outside the roots of the workspace is 403', async () => {
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer' })
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  const answer = await portico.fetch(at(portico.outside), { headers })
  assert.equal(answer.status, 403)
  assert.deepEqual(await answer.json(), {
    _tag: 'LocationPermissionDeniedError',
    message: `Directory not allowed: ${portico.outside}`,
    location: { directory: portico.outside },
  })
})

test('bearer: no directory is allowed while the workspace has no roots, and the error says so without the default directory', async () => {
  await using portico = await openPortico({ PORTICO_AUTH: 'bearer' })
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  const created = await portico.fetch('/api/session', { method: 'POST', headers, body: '{}' })
  for (const answer of [await portico.fetch('/api/agent', { headers }), created]) {
    assert.equal(answer.status, 403)
    assert.deepEqual(await answer.json(), {
      _tag: 'LocationPermissionDeniedError',
      message: 'Directory not allowed: the default, like any other: the workspace has no roots (PORTICO_PROJECT_ROOTS)',
      location: { directory: '' },
    })
  }
})

test('a reload is 204 for the locations in use, and an event of each', async () => {
  await using portico = await openPortico()
  await portico.fetch('/api/agent')
  const stream = await openStream(`${portico.url}/api/event`)
  await readUntil(stream, (text) => text.includes('server.connected'))
  const answer = await portico.fetch('/api/location/reload', { method: 'POST' })
  assert.deepEqual([answer.status, await answer.text()], [204, ''])
  const text = await readUntil(stream, (text) => text.includes('location.shutdown'))
  const [event] = text.split('\n').filter((line) => line.includes('location.shutdown'))
  const { id: _, created: __, ...rest } = JSON.parse(event?.replace(/^data: /, '') ?? '')
  assert.deepEqual(rest, { type: 'location.shutdown', location: { directory: portico.project }, data: {} })
  stream.destroy()
})

test('a reload of a directory that is gone is 503, which names it', async () => {
  await using portico = await openPortico({}, { 'gone/a.txt': 'a' })
  const directory = join(portico.project, 'gone')
  for (const path of ['/api/agent', `/api/agent?location[directory]=${encodeURIComponent(directory)}`])
    assert.equal((await portico.fetch(path)).status, 200)
  await rm(directory, { recursive: true })
  const answer = await portico.fetch('/api/location/reload', { method: 'POST' })
  assert.equal(answer.status, 503)
  assert.deepEqual(await answer.json(), {
    _tag: 'ServiceUnavailableError',
    message: `Locations could not be reloaded: ${directory}: it is gone, or cannot be read`,
    service: 'location',
  })
})

test('a reload of a configuration that is nested too deep is 503, with the place', async () => {
  await using portico = await openPortico({}, { 'opencode.json': '{}' })
  assert.equal((await portico.fetch('/api/agent')).status, 200)
  const path = join(portico.project, 'opencode.json')
  const reload = (text: string) =>
    writeFile(path, text).then(() => portico.fetch('/api/location/reload', { method: 'POST' }))
  const nested = (levels: number) => `{"x":"[[",\n"y":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  assert.equal((await reload(nested(100))).status, 204)
  for (const levels of [101, 100_000]) {
    const answer = await reload(nested(levels))
    assert.equal(answer.status, 503)
    const problem = `${path}: nested more than 100 levels deep at line 2, column 104`
    const message = `Locations could not be reloaded: ${portico.project}: ${problem}`
    assert.deepEqual(await answer.json(), { _tag: 'ServiceUnavailableError', message, service: 'location' })
  }
})

test('a directory that does not exist is 404', async () => {
  await using portico = await openPortico()
  const directory = join(portico.project, 'missing')
  const answer = await portico.fetch(at(directory))
  assert.equal(answer.status, 404)
  assert.deepEqual(await answer.json(), {
    _tag: 'LocationNotFoundError',
    message: `Directory not found: ${directory}`,
    location: { directory },
  })
})
