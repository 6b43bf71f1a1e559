import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { KEYS, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { waitFor } from '#test/support/wait-until.ts'

const DISK_BYTES = 32 * 1024 * 1024

/** A small disk of its own; undefined where none can be mounted. */
function smallDisk() {
  const at = scratchDirectory()
  const path = join(at.path, 'disk')
  mkdirSync(path)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path]).status === 0
  const dispose = (): void => {
    if (mounted) spawnSync('umount', ['--lazy', path])
    at[Symbol.dispose]()
  }
  if (!mounted) dispose()
  return mounted ? { path, [Symbol.dispose]: dispose } : undefined
}

const S = '/api/session/ses_1'
const WRITES: readonly (readonly [path: string, body: object])[] = [
  ['/api/session', { id: 'ses_new' }],
  [`${S}/agent`, { agent: 'plan' }],
  [`${S}/model`, { model: { providerID: 'portico', id: 'echo' } }],
  [`${S}/prompt`, { text: 'Hello' }],
  [`${S}/prompt`, { text: 'Hello', files: [{ uri: 'data:text/plain,other%20words' }] }],
  ['/api/v1/responses', { model: 'portico/echo', input: 'Hello' }],
]
const READS = ['/api/session', S, `${S}/message`, '/api/session/active', '/api/permission/request'] as const

test('while the disk is full, writes are 503 in each API family and reads work; with room again both work', async (t) => {
  using disk = smallDisk()
  if (disk === undefined) return t.skip('no file system can be mounted')
  using project = scratchDirectory()
  const data = join(disk.path, 'data')
  const filler = join(disk.path, 'filler')
  const product = await startSingle({ dataDirectory: data, project: project.path })
  try {
    const client = new InstanceClient(product.url)
    await client.createSession({ id: 'ses_1' })
    await client.prompt('ses_1', { text: 'Before' })
    await client.wait('ses_1')
    const before = await client.messages('ses_1')

    assert.throws(() => writeFileSync(filler, Buffer.alloc(DISK_BYTES)), { code: 'ENOSPC' })
    for (const [path, body] of WRITES) {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${KEYS.api}` }
      const answer = await fetch(product.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      const failure = (await answer.json()) as { _tag?: string; error?: { code: number } }
      assert.equal(answer.status, 503, `${path}: ${JSON.stringify(failure)}`)
      assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, path)
      if (path.includes('/v1/')) assert.equal(failure.error?.code, 503)
      else assert.equal(failure._tag, 'ServiceUnavailableError')
    }
    for (const path of READS) await client.get(path)
    assert.deepEqual(await client.messages('ses_1'), before)
    await waitFor('the log says why', () => product.processes()[0]?.output().includes('"reason":"STORE_FULL"') === true)

    rmSync(filler)
    const prompt = { id: 'msg_after', text: '/length 3\nAfter', files: [{ uri: 'data:text/plain,words' }] }
    await waitFor('there is room', () =>
      client.prompt('ses_1', prompt).then(
        () => true,
        () => false,
      ),
    )
    await client.createSession({ id: 'ses_new' })
    await client.wait('ses_1')
    const messages = await client.messages('ses_1')
    const after = messages.slice(before.length).map(({ type, outcome }) => [type, outcome])
    assert.deepEqual(after, [
      ['user', undefined],
      ['assistant', undefined],
      ['idle', 'succeeded'],
    ])
  } finally {
    await product.stop()
  }
})

test('a server that starts on a full disk is not ready before there is room', async (t) => {
  using disk = smallDisk()
  if (disk === undefined) return t.skip('no file system can be mounted')
  using project = scratchDirectory()
  const setting = { dataDirectory: join(disk.path, 'data'), project: project.path }
  const filler = join(disk.path, 'filler')
  await (await startSingle(setting)).kill()
  assert.throws(() => writeFileSync(filler, Buffer.alloc(DISK_BYTES)), { code: 'ENOSPC' })
  const server = await startProcess('main.ts', {
    ...{ PORTICO_DATA_DIR: setting.dataDirectory, PORTICO_DIRECTORY: project.path, PORTICO_PORT: '0' },
  })
  try {
    const first = await fetch(`${server.url}/readyz`)
    assert.deepEqual([first.status, (await first.text()).includes('store full')], [503, true])
    rmSync(filler)
    await waitFor('it is ready', async () => (await fetch(`${server.url}/readyz`)).status === 200)
  } finally {
    await server.stop()
  }
})
