import assert from 'node:assert/strict'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLogger } from '#shared/telemetry/logging.ts'
import { eventsOf } from '#test/support/generation.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { ProviderSet } from '../providers/provider-set.ts'

const PROTOCOLS = [
  ['openai', 'authorization', 'Bearer ', 'openai-text.sse'],
  ['anthropic', 'x-api-key', '', 'anthropic-tools.sse'],
] as const

for (const [protocol, header, scheme, file] of PROTOCOLS) {
  test(`a key that comes from a file follows the file, and outlives its absence (${protocol})`, async () => {
    using folder = scratchDirectory()
    const path = join(folder.path, 'key')
    const lines: { path?: string; level?: string }[] = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
    const logger = createLogger({ service: 'test', level: 'warn', destination })
    await using stub = await startStub(streams(fixture(file)))
    const config = { id: 'p', protocol, apiKey: 'key-1', apiKeyFile: path, headers: {}, models: [] } as const
    await using set = new ProviderSet([{ ...config, baseUrl: stub.url }], 5_000, logger)
    const provider = set.byId.get('p') ?? assert.fail()
    const sent = async (): Promise<unknown> => {
      await eventsOf(provider)
      return stub.seen.at(-1)?.headers[header]
    }

    writeFileSync(path, 'key-1\n')
    assert.equal(await sent(), `${scheme}key-1`)
    // In place, with a text of the same length; and by replacing the file, as Kubernetes and editors do.
    writeFileSync(path, 'key-2\n')
    assert.equal(await sent(), `${scheme}key-2`)
    writeFileSync(`${path}.new`, 'key-3\n')
    renameSync(`${path}.new`, path)
    assert.equal(await sent(), `${scheme}key-3`)
    assert.deepEqual(lines, [])
    for (const spoil of [() => rmSync(path), () => writeFileSync(path, ''), () => writeFileSync(path, 'a\nb')]) {
      spoil()
      assert.equal(await sent(), `${scheme}key-3`)
    }
    assert.deepEqual(
      lines.map(({ path, level }) => [path, level]),
      [[path, 'warn']],
    )
    writeFileSync(path, 'key-4')
    assert.equal(await sent(), `${scheme}key-4`)
    rmSync(path)
    await sent()
    assert.equal(lines.length, 2, 'the next absence is reported again')
  })
}

test('no error shows a key, neither the present one nor the one before', async () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'key')
  writeFileSync(path, 'key-2')
  await using stub = await startStub(answers(401, { error: 'key-1 is now key-2' }))
  const config = { id: 'p', protocol: 'openai', apiKey: 'key-1', apiKeyFile: path, headers: {}, models: [] } as const
  const logger = createLogger({ service: 'test', level: 'silent' })
  await using set = new ProviderSet([{ ...config, baseUrl: stub.url }], 5_000, logger)
  const metadata = { provider: 'p', status: '401', message: '*** is now ***' }
  await assert.rejects(eventsOf(set.byId.get('p') ?? assert.fail()), reasonOfRejection('PROVIDER_REFUSED', metadata))
})
