// A process of its own: it measures how long the event loop is blocked.
import assert from 'node:assert/strict'
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import type { Routes } from '#shared/rpc/routes.ts'
import {
  asOperator,
  type CatalogFixture,
  catalogTest,
  openCatalog,
  rejection,
  runTool,
  writeFiles,
} from '#test/support/catalog.ts'
import { heldDuring, MOST_HELD_MS } from '#test/support/held.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

async function read({ client }: CatalogFixture, uri: string) {
  const { data, mime, name } = await client.readAttachment({ uri }, asOperator)
  return [mime, name, mime.startsWith('image/') ? Buffer.from(data).toString('hex') : Buffer.from(data).toString()]
}

catalogTest('reads data: in canonical base64 and percent-encoded; its content determines its type', async (catalog) => {
  assert.deepEqual(await read(catalog, 'data:text/html;base64,aGVsbG8='), ['text/plain', undefined, 'hello'])
  assert.deepEqual(await read(catalog, 'data:,h%C3%A4%25+b'), ['text/plain', undefined, 'hä%+b'])
  const png = `data:text/plain;base64,${PNG.toString('base64')}`
  assert.deepEqual(await read(catalog, png), ['image/png', undefined, PNG.toString('hex')])
  assert.deepEqual(await read(catalog, 'data:,%c3%A4ä%0a%7E'), ['text/plain', undefined, 'ää\n~'])
  assert.equal((await read(catalog, 'data:;base64,AAEC'))[0], 'application/octet-stream')
})

catalogTest('reads file: in the location, with lines from start to end', async (catalog) => {
  await writeFiles(catalog.project, { 'a b.txt': 'one\ntwo\nthree\n' })
  await writeFile(join(catalog.project, 'p.txt'), PNG)
  const uri = pathToFileURL(join(catalog.project, 'a b.txt')).href
  assert.deepEqual(await read(catalog, uri), ['text/plain', 'a b.txt', 'one\ntwo\nthree\n'])
  assert.deepEqual(await read(catalog, `${uri}?start=2&end=2`), ['text/plain', 'a b.txt', 'two\n'])
  assert.deepEqual(await read(catalog, `${uri}?start=2`), ['text/plain', 'a b.txt', 'two\nthree\n'])
  assert.deepEqual(await read(catalog, `${uri}?end=1`), ['text/plain', 'a b.txt', 'one\n'])
  assert.deepEqual(await read(catalog, `${uri}?start=9`), ['text/plain', 'a b.txt', ''])
  const image = `${pathToFileURL(join(catalog.project, 'p.txt')).href}?start=1&end=1`
  assert.deepEqual(await read(catalog, image), ['image/png', 'p.txt', PNG.toString('hex')])
})

catalogTest('a directory is a sorted listing', async (catalog) => {
  await writeFiles(catalog.project, { 'dir/b': '', 'dir/a': '' })
  await mkdir(join(catalog.project, 'dir/aa'))
  const uri = pathToFileURL(join(catalog.project, 'dir')).href
  assert.deepEqual(await read(catalog, uri), ['application/x-directory', 'dir', 'a\naa/\nb'])
})

test('a file that can be opened but not read is ATTACHMENT_INVALID', {
  skip: process.platform === 'linux' ? false : 'no such file is known here',
}, async () => {
  const directory = `/proc/${process.pid}`
  await using catalog = await openCatalog({ directory })
  const problem = 'it cannot be read (EIO)'
  await assert.rejects(read(catalog, `file://${directory}/mem`), rejection('ATTACHMENT_INVALID', { problem }))
  const { failure } = await runTool(catalog, 'read', { path: 'mem' })
  assert.deepEqual(failure, { type: 'io', message: 'mem cannot be read (EIO)' })
})

catalogTest('an address that cannot be read is ATTACHMENT_INVALID', async (catalog) => {
  await writeFiles(catalog.outside, { secret: 'secret' })
  await writeFiles(catalog.project, { 'large.txt': '', text: 'a' })
  await truncate(join(catalog.project, 'large.txt'), (20 << 20) + 1)
  await symlink(join(catalog.outside, 'secret'), join(catalog.project, 'link'))
  const file = (path: string) => pathToFileURL(path).href
  const outside = join(catalog.outside, 'secret')
  const confined = `${outside} is outside of the project directory ${catalog.project}`
  const cases: readonly (readonly [uri: string, problem: string])[] = [
    ['https://example.com/a', 'only data: and file: are read'],
    ['', 'only data: and file: are read'],
    ['data:text/plain;base64', 'a data: URI needs a comma'],
    ['data:;base64,aGVsbG8', 'its base64 is not canonical'],
    ['data:;base64,aGVsbG9=', 'its base64 is not canonical'],
    ['data:;base64,aGVs bG8=', 'its base64 is not canonical'],
    ['data:,%4', 'a percent sign is not followed by two hexadecimal digits'],
    ['data:,%g0', 'a percent sign is not followed by two hexadecimal digits'],
    ['data:,%2', 'a percent sign is not followed by two hexadecimal digits'],
    [`data:,${'%41'.repeat((20 << 20) + 1)}`, 'it has more than 20971520 bytes'],
    [`data:,%41${'a'.repeat(20 << 20)}`, 'it has more than 20971520 bytes'],
    ['data:,100%', 'a percent sign is not followed by two hexadecimal digits'],
    [`data:;base64,${'A'.repeat(4 * Math.ceil((20 << 20) / 3) + 4)}`, 'it has more than 20971520 bytes'],
    [`data:,${'a'.repeat((20 << 20) + 1)}`, 'it has more than 20971520 bytes'],
    [`file:///${'%41'.repeat(10_000_000)}`, 'it is longer than any path'],
    ['file://elsewhere/a', 'it is not a path on this machine'],
    ['file:///a%2Fb', 'it is not a path on this machine'],
    ['file:///a%00b', 'it is not a path on this machine'],
    ['file:///a%ff', 'it is not a path on this machine'],
    [`${file(join(catalog.project, 'text'))}?start=0`, 'start is not a line number'],
    [`${file(join(catalog.project, 'text'))}?start=2&end=1`, 'end is before start'],
    [file(join(catalog.project, 'none')), 'none does not exist'],
    [file(join(catalog.project, 'large.txt')), 'it has more than 20971520 bytes'],
    [file(outside), confined],
    [file(join(catalog.project, 'link')), confined],
  ]
  for (const [uri, problem] of cases) {
    await assert.rejects(read(catalog, uri), rejection('ATTACHMENT_INVALID', { problem }), uri.slice(0, 60))
  }
})

test('reading 20 MiB of any content delays no other call, also when several are read at once', async () => {
  // Encoding in between would be counted, too.
  const connect = async (...routes: Routes[]) => ({
    transport: createLocalTransport(...routes),
    async [Symbol.asyncDispose]() {},
  })
  await using catalog = await openCatalog({}, connect)
  const most = 20 << 20
  await writeFiles(catalog.project, { lines: '\n'.repeat(most), one: 'a'.repeat(most), both: 'a\n'.repeat(most / 2) })
  const file = (name: string) => pathToFileURL(join(catalog.project, name)).href
  const escapes = `data:,${'a%41'.repeat(most / 2)}`
  const cases: readonly (readonly [uri: string, size: number])[] = [
    [escapes, most],
    [`data:,${'%41'.repeat(most)}`, most],
    [`data:,${'a'.repeat(most)}`, most],
    [`data:;base64,${'QUJD'.repeat(most / 4)}`, (most / 4) * 3],
    [`${file('lines')}?start=1&end=2`, 2],
    [`${file('lines')}?start=${most - 1}`, 2],
    [`${file('lines')}?end=${most}`, most],
    [`${file('one')}?start=1&end=2`, most],
    [`${file('both')}?start=2&end=${most}`, most - 2],
    [file('lines'), most],
  ]
  for (const [uri, size] of cases) {
    const held = await heldDuring(async () => {
      assert.equal((await catalog.client.readAttachment({ uri }, asOperator)).data.length, size)
    })
    assert.ok(held < MOST_HELD_MS, `${uri.slice(-40)}: ${held} ms`)
  }
  const held = await heldDuring(() =>
    Promise.all(Array.from({ length: 12 }, () => catalog.client.readAttachment({ uri: escapes }, asOperator))),
  )
  assert.ok(held < MOST_HELD_MS, `twelve at once: ${held} ms`)
})
