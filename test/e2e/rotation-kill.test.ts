import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { JoseSignatures } from '#services/identity/adapters/jose-signatures.ts'
import { AccessTokens } from '#services/identity/run/access-token/access-tokens.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { ISSUER, openRing, type SigningPlace } from '#test/support/signing.ts'

const ENTRY = fileURLToPath(new URL('./rotate-and-mint.ts', import.meta.url))
const KILLS = 8

/** Rotates in a process that is killed at some moment; returns the tokens that it issued, with their times. */
async function killedWhileRotating(place: SigningPlace, begin: number): Promise<{ time: number; token: string }[]> {
  const child = spawn(process.execPath, [ENTRY, JSON.stringify(place), String(begin)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const given: { time: number; token: string }[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const [, time, token = ''] = /^(\d+) (\S+)$/.exec(line) ?? []
    // The last line may be cut off: that token was not issued.
    if (token.split('.')[2]?.length === 86) given.push({ time: Number(time), token })
    if (given.length === 1) void sleep(Math.random() * 200).then(() => child.kill('SIGKILL'))
  }
  await closed
  return given
}

async function killRotations(place: SigningPlace): Promise<void> {
  let time = Date.UTC(2026, 0, 1)
  let rotations = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const given = await killedWhileRotating(place, time)
    rotations += given.length
    time = given.at(-1)?.time ?? time
    const clock = { now: () => time, monotonic: () => time }
    await using opened = await openRing(place, clock)
    const tokens = new AccessTokens({ signatures: new JoseSignatures(), ring: opened.ring, issuer: ISSUER, clock })
    const valid = given.filter((each) => each.time + 899_000 > time)
    assert.ok(valid.length > 0)
    for (const { token } of valid)
      assert.deepEqual(await tokens.verify(token), { workspaceId: 'wrk_one', keyId: 'key_one' })
    const published = await opened.ring.published()
    assert.ok(published.length <= 5, `${published.length} keys`)
    assert.equal(new Set(published.map(({ kid }) => kid)).size, published.length)
  }
  assert.ok(rotations >= KILLS, String(rotations))
}

test('kill -9 amid rotations: every token that was given out verifies after the restart, and expired keys are removed (SQLite)', async () => {
  using folder = scratchDirectory()
  await killRotations({ directory: folder.path })
})

test('kill -9 amid rotations: every token that was given out verifies after the restart (MongoDB)', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  try {
    await killRotations({ uri: mongoUri() ?? '', database })
  } finally {
    await dropDatabase(database)
  }
})
