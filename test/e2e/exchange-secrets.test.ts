import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { addPolicy, openReplica, replicaToken } from '#test/support/identity-replica.ts'
import { scratchDirectory, startProcess } from '#test/support/processes.ts'
import { newTokenKey, signToken } from '#test/support/subject-tokens.ts'

const KEY = Buffer.alloc(32, 'k').toString('base64')

/** The bytes of all files of a folder. */
const bytesOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

test('exchanges leave no token in logs or store, and all refusals have the same answer', async () => {
  using data = scratchDirectory()
  using project = scratchDirectory()
  const key = newTokenKey('ES256', 'k1')
  const settings = { PORTICO_DATA_DIR: data.path, PORTICO_KEY_ENCRYPTION_KEY: KEY }
  const { policyId } = await (async () => {
    await using replica = await openReplica(settings)
    return await addPolicy(replica, key)
  })()
  const server = await startProcess('main.ts', { ...settings, PORTICO_PORT: '0', PORTICO_LOG_LEVEL: 'trace' }, [
    project.path,
  ])
  const post = async (token: string, policy = policyId) => {
    const answer = await fetch(`${server.url}/api/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        federation_policy_id: policy,
        subject_token: token,
      }),
    })
    const headers = Object.fromEntries(
      [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
    )
    return { status: answer.status, headers, text: await answer.text() }
  }
  try {
    const good = replicaToken(key)
    const other = newTokenKey('ES256', 'a-kid-that-nobody-logs')
    const bad = [
      replicaToken(other),
      replicaToken(key, { sub: 'somebody else' }),
      replicaToken(key, { exp: 1 }),
      signToken({ sub: 'x' }, key, { alg: 'none' }),
      // Each has a payload long enough not to occur anywhere by chance.
      signToken({ sub: 'x' }, other, { kid: '\u0000\u001b[31m' }),
    ]
    const accepted = await post(good)
    assert.equal(accepted.status, 200)
    const { access_token: accessToken } = JSON.parse(accepted.text)
    const answers = [await post(good, randomUUID())]
    for (const token of bad) answers.push(await post(token))
    const [first] = answers
    assert.equal(first?.status, 400)
    assert.deepEqual(JSON.parse(first?.text ?? '').error, 'invalid_grant')
    for (const answer of answers) assert.deepEqual(answer, first)
    await post('garbage.garbage.garbage-that-nobody-logs')
    assert.equal(await server.stop(), 0)
    const secrets = [good, accessToken, ...bad].flatMap((token: string) => token.split('.').slice(1))
    for (const [place, text] of [
      ['logs', server.output()],
      ['store', bytesOf(data.path)],
    ] as const) {
      for (const part of secrets) assert.ok(part === '' || !text.includes(part), `${place}: ${part}`)
      for (const part of ['nobody-logs', '\u001b[31m', 'Bearer ey'])
        assert.ok(!text.includes(part), `${place}: ${part}`)
    }
  } finally {
    await server.stop()
  }
})
