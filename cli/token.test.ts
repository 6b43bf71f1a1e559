import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FederationService } from '#gen/portico/identity/v1/federation_service_pb.js'
import { readConfig } from '#services/identity/config.ts'
import { open } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { silentLogger } from '#test/support/transports.ts'

const token = (words: readonly string[], env: Record<string, string> = {}) => runToEnd('cli/token.ts', words, env)
const jsonOf = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
const CLAIMS = ['--issuer', 'https://ci.example', '--subject', 'job', '--audience', 'portico']

for (const alg of ['ES256', 'RS256'] as const) {
  test(`keypair writes a private key that only its owner reads, and its key set verifies what sign prints (${alg})`, async () => {
    using folder = scratchDirectory()
    const file = join(folder.path, 'issuer.key')
    const made = await token(['keypair', file, '--alg', alg])
    assert.deepEqual([made.code, made.stderr], [0, `The private key is in ${file}\n`])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const { keys } = JSON.parse(made.stdout)
    const members =
      alg === 'ES256' ? ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'] : ['alg', 'e', 'kid', 'kty', 'n', 'use']
    assert.deepEqual(Object.keys(keys[0]).toSorted(), members)

    const words = ['sign', file, ...CLAIMS, '--expires-in', '60', '--claims', '{"scopes":["a"],"jti":"mine"}']
    const { stdout } = await token(words)
    const [header = '', payload = '', signature = ''] = stdout.trim().split('.')
    assert.deepEqual(jsonOf(header), { alg, typ: 'JWT', kid: keys[0].kid })
    const { iat, exp, ...claims } = jsonOf(payload)
    const expected = { iss: 'https://ci.example', sub: 'job', aud: 'portico', scopes: ['a'], jti: 'mine' }
    assert.deepEqual([claims, exp - iat], [expected, 60])
    const key = { key: createPublicKey({ key: keys[0], format: 'jwk' }), dsaEncoding: 'ieee-p1363' } as const
    assert.ok(verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')))
  })
}

test('keypair overwrites nothing', async () => {
  using folder = scratchDirectory()
  const file = join(folder.path, 'issuer.key')
  writeFileSync(file, 'precious')
  const { code, stdout, stderr } = await token(['keypair', file])
  assert.deepEqual([code, stdout], [2, ''])
  assert.ok(stderr.startsWith(`${file} cannot be written (EEXIST)\n`), stderr)
  assert.equal(readFileSync(file, 'utf8'), 'precious')
})

test('rotate makes the next signing key beside a running server; again, it prints the same', async () => {
  using folder = scratchDirectory()
  const env = { PORTICO_DATA_DIR: folder.path }
  const none = await token(['rotate'], env)
  assert.deepEqual([none.code, none.stdout], [2, ''])
  await using identity = await open(readConfig(env), { clock: systemClock, logger: silentLogger })
  const client = createClient(FederationService, createLocalTransport(identity.routes))
  const rotated = await token(['rotate'], env)
  assert.match(rotated.stderr, /^Store: the folder [^\n]+\nThe key is published from now on, and signs from \S+Z on\n$/)
  const { keys } = await client.listSigningKeys({})
  assert.deepEqual([keys.length, rotated.stdout], [2, `${keys[1]?.kid}\n`])
  const again = await token(['rotate'], env)
  assert.deepEqual([again.stdout, again.stderr], [rotated.stdout, rotated.stderr])
})

test('invalid arguments are answered with one line and a pointer to the usage', async () => {
  const wrong = [
    ...[['keypair'], ['keypair', 'a', 'b'], ['keypair', 'a', '--alg', 'HS256'], ['sing'], ['rotate', 'x']],
    ...[
      ['sign', 'a'],
      ['sign', '/nowhere', ...CLAIMS],
      ['sign', 'package.json', ...CLAIMS],
      ['sign', 'README.md', ...CLAIMS],
    ],
  ]
  const ended = await Promise.all(wrong.map((words) => token(words)))
  for (const [index, { code, stdout, stderr }] of ended.entries()) {
    assert.deepEqual([code, stdout], [2, ''], wrong[index]?.join(' '))
    assert.match(stderr, /^[^\n]+\nSee npm run token -- help\n$/)
  }
  assert.match((await token([])).stdout, /^Usage: /)
})
