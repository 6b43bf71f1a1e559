import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { KEY_A, KEY_B, mintNow, openSigningStore, type Replica } from '#test/support/signing.ts'

const TARGET = { workspaceId: 'wrk_one', keyId: 'key_one' }
const MINUTE = 60_000
const DAY = 1_440 * MINUTE

const kidOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
const publishedBy = async ({ ring }: Replica) => (await ring.published()).map(({ kid }) => kid)

test('one of several replicas that start at once makes the first key, and all use it', async () => {
  await using signing = await openSigningStore()
  const replicas = await Promise.all(Array.from({ length: 5 }, () => signing.replica()))
  const kids = await Promise.all(replicas.map(async (replica) => kidOf(await mintNow(signing, replica))))
  assert.equal(new Set(kids).size, 1)
  assert.equal((await signing.store.list()).length, 1)
})

test('a rotated key is published by all replicas at once, signs 15 minutes later, and both are good meanwhile', async () => {
  await using signing = await openSigningStore()
  const [one, two] = [await signing.replica(), await signing.replica()]
  const old = await mintNow(signing, one)
  const next = await one.ring.rotate()
  assert.deepEqual(await publishedBy(two), [kidOf(old), next.kid])
  assert.equal(next.timeUsed - signing.clock.time, 15 * MINUTE)
  for (const replica of [one, two]) assert.equal(kidOf(await mintNow(signing, replica)), kidOf(old))
  signing.clock.time = next.timeUsed - 1
  const before = await mintNow(signing, two)
  signing.clock.time = next.timeUsed
  const after = await mintNow(signing, two)
  assert.deepEqual([kidOf(before), kidOf(after)], [kidOf(old), next.kid])
  for (const token of [before, after]) {
    for (const { tokens } of [one, two, await signing.replica()]) assert.deepEqual(await tokens.verify(token), TARGET)
  }
})

test('one of several replicas that rotate at once makes the next key', async () => {
  await using signing = await openSigningStore()
  const replicas = await Promise.all(Array.from({ length: 5 }, () => signing.replica()))
  const made = await Promise.all([...replicas, ...replicas].map(({ ring }) => ring.rotate()))
  assert.equal(new Set(made.map(({ kid }) => kid)).size, 1)
  assert.equal((await signing.store.list()).length, 2)
})

test('making a token after 30 days also makes the next key, once for all replicas, and the old one signs until it is due', async () => {
  await using signing = await openSigningStore()
  const replicas = [await signing.replica(), await signing.replica(), await signing.replica()]
  const [one] = replicas as [Replica]
  const old = kidOf(await mintNow(signing, one))
  signing.clock.time += 30 * DAY
  const kids = await Promise.all(replicas.map(async (replica) => kidOf(await mintNow(signing, replica))))
  assert.deepEqual(new Set(kids), new Set([old]))
  const [, next] = await signing.store.list()
  assert.equal((await signing.store.list()).length, 2)
  signing.clock.time = next?.timeUsed ?? 0
  for (const replica of replicas) assert.equal(kidOf(await mintNow(signing, replica)), next?.kid)
})

test('a key is published until the last token that it signed has expired, and is gone half an hour after the next one began', async () => {
  await using signing = await openSigningStore()
  const replica = await signing.replica()
  const old = kidOf(await mintNow(signing, replica))
  const next = await replica.ring.rotate()
  signing.clock.time = next.timeUsed - 1
  const last = await mintNow(signing, replica)
  assert.equal(kidOf(last), old)
  signing.clock.time += 900_000 - 1_000
  assert.deepEqual(await (await signing.replica()).tokens.verify(last), TARGET)
  assert.deepEqual(await publishedBy(replica), [old, next.kid])
  signing.clock.time = next.timeUsed + 30 * MINUTE
  assert.deepEqual(await publishedBy(replica), [next.kid])
  assert.equal((await signing.store.list()).length, 1)
})

test('a replica that has made no token for an hour signs with the key that has become due', async () => {
  await using signing = await openSigningStore()
  const [one, two] = [await signing.replica(), await signing.replica()]
  await mintNow(signing, two)
  const next = await one.ring.rotate()
  signing.clock.time += 60 * MINUTE
  assert.equal(kidOf(await mintNow(signing, two)), next.kid)
})

test('a replica with a wrong encryption key refuses to start in one line, and changes nothing', async () => {
  await using signing = await openSigningStore()
  await signing.replica([KEY_A])
  const before = await signing.store.list()
  await assert.rejects(signing.replica([KEY_B]), (error) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /^The signing keys in the store are not encrypted with THE_SETTING\. [^\n]+$/)
    assert.ok(!error.message.includes(KEY_B))
    return true
  })
  assert.deepEqual(await signing.store.list(), before)
})

test('one of two replicas that make the first key at once with different encryption keys refuses to start', async () => {
  await using signing = await openSigningStore()
  const both = await Promise.allSettled([signing.replica([KEY_A]), signing.replica([KEY_B])])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})

test('a stored key that was changed by a bit, or exchanged for another, is not opened', async () => {
  await using signing = await openSigningStore()
  const { ring } = await signing.replica()
  await ring.rotate()
  const [one, two] = await signing.store.list()
  if (one === undefined || two === undefined) return assert.fail()
  const flipped = Uint8Array.from(one.sealed, (byte, index) => (index === 20 ? byte ^ 1 : byte))
  for (const sealed of [flipped, two.sealed, one.sealed.subarray(1), new Uint8Array()]) {
    await signing.store.revise(() => [{ ...one, sealed }, two])
    await assert.rejects(signing.replica(), ConfigError)
  }
})

test('a start with the new encryption key before the old one replaces it; then the new one alone is enough', async () => {
  await using signing = await openSigningStore()
  const old = await signing.replica([KEY_A])
  await old.ring.rotate()
  const token = await mintNow(signing, old)
  const both = await signing.replica([KEY_B, KEY_A])
  const again = await signing.replica([KEY_B])
  for (const replica of [old, both, again]) {
    assert.deepEqual(await replica.tokens.verify(token), TARGET)
    assert.equal(kidOf(await mintNow(signing, replica)), kidOf(token))
  }
  await assert.rejects(signing.replica([KEY_A]), ConfigError)
})

test('a replica that cannot open a key signs with it as soon as another replica has encrypted it with a key that both have', async () => {
  await using signing = await openSigningStore()
  const [old, newer] = [await signing.replica([KEY_A]), await signing.replica([KEY_B, KEY_A])]
  const { kid, timeUsed } = await newer.ring.rotate()
  signing.clock.time = timeUsed
  assert.equal(kidOf(await mintNow(signing, newer)), kid)
  await assert.rejects(mintNow(signing, old), { reason: 'SIGNING_UNAVAILABLE' })
  await signing.replica([KEY_A, KEY_B])
  signing.clock.time += MINUTE
  for (const replica of [old, newer]) assert.equal(kidOf(await mintNow(signing, replica)), kid)
})

test('replicas replace the encryption key one after another, and none refuses or cannot sign, if the old key comes before the new at first', async () => {
  await using signing = await openSigningStore()
  let now: Replica[] = [await signing.replica([KEY_A]), await signing.replica([KEY_A])]
  for (const keys of [[KEY_A, KEY_B], [KEY_B, KEY_A], [KEY_B]]) {
    for (const index of now.keys()) {
      now = now.with(index, await signing.replica(keys))
      await now[index]?.ring.rotate()
      for (const replica of now) {
        const token = await mintNow(signing, replica)
        for (const { tokens } of now) assert.deepEqual(await tokens.verify(token), TARGET)
      }
      signing.clock.time += 60 * MINUTE
    }
  }
})
