import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import {
  addPolicy,
  type IdentityReplica,
  openReplica,
  type ReplicaSettings,
  replicaToken,
} from '#test/support/identity-replica.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { newTokenKey } from '#test/support/subject-tokens.ts'

const ENTRY = fileURLToPath(new URL('./exchange-and-print.ts', import.meta.url))
const KILLS = 4

/** Exchanges in a process that is killed after some tokens; returns the access tokens that it issued. */
async function killedWhileExchanging(settings: ReplicaSettings, policyId: string, token: string): Promise<string[]> {
  const child = spawn(process.execPath, [ENTRY, JSON.stringify(settings), policyId, token], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const given: string[] = []
  const last = randomInt(10, 60)
  for await (const line of createInterface({ input: child.stdout })) {
    // The last line may be cut off.
    if (line.split('.')[2]?.length === 86) given.push(line)
    if (given.length === last) child.kill('SIGKILL')
  }
  await closed
  return given
}

/** The ids of all access tokens in the audit log. */
async function recorded({ federation, organizationId, admin }: IdentityReplica): Promise<Set<string>> {
  const ids = new Set<string>()
  let pageToken: string | undefined
  do {
    const request = { organizationId, kind: Kind.EXCHANGE_ACCEPTED, pageSize: 100, pageToken }
    const { entries, nextPageToken } = await federation.listAuditEntries(request, admin)
    for (const { event } of entries) if (event.case === 'exchangeAccepted') ids.add(event.value.tokenId)
    pageToken = nextPageToken
  } while (pageToken !== undefined)
  return ids
}

async function killExchanges(settings: ReplicaSettings): Promise<void> {
  const key = newTokenKey('ES256', 'k1')
  const { policyId, keyId } = await (async () => {
    await using replica = await openReplica(settings)
    return await addPolicy(replica, key)
  })()
  for (let kill = 0; kill < KILLS; kill += 1) {
    const tokens = await killedWhileExchanging(settings, policyId, replicaToken(key))
    await using replica = await openReplica(settings)
    const ids = await recorded(replica)
    for (const token of tokens) {
      const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
      assert.ok(ids.has(jti), `${jti} is not in the audit log`)
      const { principal } = await replica.identity.authenticate({ credential: { case: 'accessToken', value: token } })
      assert.equal(principal?.apiKeyId, keyId)
    }
  }
}

test('kill -9 amid exchanges: every token that was given out is in the audit log, and verifies after the restart (SQLite)', async () => {
  using folder = scratchDirectory()
  await killExchanges({ PORTICO_DATA_DIR: folder.path })
})

test('kill -9 amid exchanges: every token that was given out is in the audit log (MongoDB)', {
  skip: skipWithoutMongo,
}, async () => {
  const database = freshDatabaseName()
  try {
    await killExchanges({
      PORTICO_MONGODB_URI: mongoUri() ?? '',
      PORTICO_MONGODB_DATABASE: database,
    })
  } finally {
    await dropDatabase(database)
  }
})
